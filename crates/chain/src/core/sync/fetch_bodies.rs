//! Requests the bodies of a better branch from several peers at once, within a budget of bytes.

use std::time::Duration;

use super::body_download::{BodyDownload, DownloadStage};
use super::stage::SyncStage;
use crate::core::blocks::BodyFault;
use crate::core::limits::{BUSY_PAUSE, DOWNLOADS_MAX, PATIENCE_BODIES, points};
use crate::core::peers::Purpose;
use crate::core::{Core, PeerId};
use crate::message::Question;
use crate::port::{Reads, StoreFailure, Table};

/// Time without a new body after which a download no longer waits for busy peers.
const PROGRESS_WAIT: Duration = Duration::from_secs(10);

impl<R: Reads<Table>> Core<R> {
    /// Requests bodies as far as the budget allows. Returns false if bodies are missing and no peer can be asked.
    pub(super) fn ask_for_bodies(&mut self, download: &mut BodyDownload) -> bool {
        let number = download.number;
        loop {
            let under_way = self
                .requests
                .count(|purpose| matches!(purpose, Purpose::Bodies { download, .. } if *download == number));
            if under_way >= DOWNLOADS_MAX {
                return true;
            }
            let Some((first, count)) = download.next_part() else {
                return true;
            };
            let Some(peer) = self.peer_with_branch(download) else {
                return under_way > 0 || self.has_busy_peer(download);
            };
            let mut hashes = Vec::with_capacity(count);
            for at in first..first + count {
                download.set_stage(at, DownloadStage::Asked);
                hashes.push(download.blocks[at].hash);
            }
            let question = Question::Bodies(hashes);
            let purpose = Purpose::Bodies {
                download: number,
                first,
                count,
            };
            self.ask(peer, purpose, &question, PATIENCE_BODIES);
        }
    }

    /// Returns the least busy peer that may have the branch.
    fn peer_with_branch(&self, download: &BodyDownload) -> Option<PeerId> {
        let difficulty = download.blocks.last()?.header.difficulty;
        self.peers
            .iter()
            .filter(|(id, peer)| {
                let far_enough = peer
                    .status
                    .is_some_and(|status| status.difficulty >= difficulty);
                (far_enough || download.sources.contains(id))
                    && !download.without_branch.contains(id)
                    && peer.busy_until <= self.now
                    && self.can_ask(id)
            })
            .min_by_key(|(id, peer)| {
                let gave = download.sources.contains(id);
                (!gave, peer.failures, peer.in_flight)
            })
            .map(|(id, _)| *id)
    }

    /// Returns whether a busy peer that may have the branch will have room again soon. Returns false if no body has arrived for
    /// too long.
    fn has_busy_peer(&self, download: &BodyDownload) -> bool {
        let idle = self.now.since(download.progress);
        idle.is_some_and(|idle| idle < PROGRESS_WAIT)
            && self.peers.iter().any(|(id, peer)| {
                peer.busy_until > self.now && !download.without_branch.contains(id)
            })
    }

    fn take_download(&mut self, number: u64) -> Option<Box<BodyDownload>> {
        match std::mem::replace(&mut self.sync.state, SyncStage::Idle) {
            SyncStage::Bodies(download) if download.number == number => Some(download),
            state => {
                self.sync.state = state;
                None
            }
        }
    }

    pub(in crate::core) fn bodies_received(
        &mut self,
        peer: PeerId,
        number: u64,
        first: usize,
        count: usize,
        bodies: Vec<Vec<u8>>,
    ) -> Result<(), StoreFailure> {
        let Some(mut download) = self.take_download(number) else {
            return Ok(());
        };
        if bodies.is_empty() {
            download.without_branch.insert(peer);
        }
        let came = bodies.len().min(count);
        let mut fault = None;
        for (at, bytes) in (first..first + came).zip(bodies) {
            let wanted = &download.blocks[at];
            if !matches!(wanted.stage, DownloadStage::Asked) {
                continue;
            }
            match self.read_body(wanted.header.clone(), wanted.hash, &bytes) {
                Ok(block) => {
                    download.set_stage(at, DownloadStage::Here(Box::new(block)));
                    download.progress = self.now;
                    download.pause_until = self.now.plus_or_last(self.forging_pause());
                }
                Err(BodyFault::Sender(code)) => {
                    fault = Some((points::BAD_SIGNATURE, code));
                    break;
                }
                Err(BodyFault::Block(code)) => {
                    fault = Some((points::BAD_BLOCK, code));
                    break;
                }
            }
        }
        download.mark_missing(first, count);
        if let Some((points, code)) = fault {
            self.penalise(peer, points, code);
            download.without_branch.insert(peer);
        } else if came > 0 {
            self.delivered(peer);
        }
        if came < count {
            // All requested bodies fit into one answer, so the peer lacks some of them or delays the download.
            download.count_failure(peer);
        }
        self.sync.state = SyncStage::Bodies(download);
        self.continue_download()
    }

    /// Postpones a question that a peer has no room to answer now. The bodies are requested again, and the peer is not penalised.
    pub(in crate::core) fn bodies_postponed(
        &mut self,
        peer: PeerId,
        number: u64,
        first: usize,
        count: usize,
    ) {
        let until = self.now.plus_or_last(BUSY_PAUSE);
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.busy_until = until;
        }
        let Some(mut download) = self.take_download(number) else {
            return;
        };
        download.mark_missing(first, count);
        self.sync.state = SyncStage::Bodies(download);
    }

    pub(in crate::core) fn bodies_failed(
        &mut self,
        peer: PeerId,
        number: u64,
        first: usize,
        count: usize,
    ) {
        let Some(mut download) = self.take_download(number) else {
            return;
        };
        download.count_failure(peer);
        download.mark_missing(first, count);
        self.sync.state = SyncStage::Bodies(download);
    }
}
