//! Synchronisation with the network. Peers' branches are first compared by their headers. The best one is then downloaded and
//! applied.

use std::collections::BTreeSet;
use std::time::Duration;

use primitives::Hash;

use super::body_download::BodyDownload;
use super::header_sync::PeerBranch;
use super::stage::SyncStage;
use crate::ChainTime;
use crate::core::{Core, PeerId};
use crate::message::LOCATOR_MAX;
use crate::port::{Reads, StoreFailure, Table};

impl<R: Reads<Table>> Core<R> {
    /// Looks for a branch to follow, or continues with the current one.
    pub(in crate::core) fn advance_sync(&mut self) -> Result<(), StoreFailure> {
        if self.reorg.is_some() {
            return Ok(());
        }
        match self.sync.state {
            SyncStage::Bodies(_) => self.continue_download(),
            SyncStage::Headers(_) => self.continue_header_sync(),
            SyncStage::Idle => self.begin_header_sync(),
        }
    }

    /// Returns the next time at which the synchronisation has work without an event.
    pub(in crate::core) fn sync_due(&self) -> Option<ChainTime> {
        match &self.sync.state {
            SyncStage::Idle => {}
            SyncStage::Headers(contest) => return self.header_sync_due(contest),
            SyncStage::Bodies(_) => {
                let busy = self.peers.iter().map(|(_, peer)| peer.busy_until);
                return busy.filter(|until| *until > self.now).min();
            }
        }
        self.peers
            .iter()
            .filter(|(_, peer)| {
                peer.back_off_until > self.now
                    && peer
                        .status
                        .is_some_and(|status| self.is_better(status.difficulty, &status.tip))
            })
            .map(|(_, peer)| peer.back_off_until)
            .min()
    }

    /// Returns our tip and blocks at doubling distances below it, down to genesis.
    pub(in crate::core) fn locator(&self) -> Result<Vec<Hash>, StoreFailure> {
        let tip = self.rows.tip();
        let mut locator = vec![tip.hash];
        let (mut height, mut step) = (tip.height, 1);
        while !height.is_genesis() && locator.len() < LOCATOR_MAX - 1 {
            // The last step ends at genesis.
            height = height.minus_or_genesis(step);
            step = step.saturating_mul(2);
            locator.extend(self.hash_at(height)?);
        }
        if locator.last() != Some(&self.genesis.hash) {
            locator.push(self.genesis.hash);
        }
        Ok(locator)
    }

    /// Downloads the branch that won a contest, if it still beats ours. The download is limited to a length at which a better
    /// branch, delivered later, can still replace it.
    pub(in crate::core) fn begin_download(
        &mut self,
        mut best: PeerBranch,
        sources: BTreeSet<PeerId>,
    ) -> Result<(), StoreFailure> {
        let blocks = self.genesis.params.rollback_blocks_max as usize;
        let cut = blocks
            .checked_sub(1)
            .and_then(|last| best.headers.get(last));
        if cut.is_some_and(|(header, hash)| self.is_better(header.difficulty, hash)) {
            best.headers.truncate(blocks);
        }
        let (Some((begin, _)), Some((end, hash))) = (best.headers.first(), best.headers.last())
        else {
            return Ok(());
        };
        if !self.beats_ours(begin, end.difficulty, hash)? || self.is_too_deep(&best) {
            return Ok(());
        }
        let stored = |hash: &Hash| self.side_blocks.contains(hash);
        let tip = self.rows.tip().hash;
        let forging_pause = match self.sync.forging_paused_on.replace(tip) {
            Some(before) if before == tip => Duration::ZERO,
            _ => self.forging_pause(),
        };
        let download = BodyDownload::new(
            self.sync.number,
            best.peer,
            sources,
            best.headers,
            stored,
            self.now,
            forging_pause,
        );
        self.sync.state = SyncStage::Bodies(Box::new(download));
        self.continue_download()
    }
}
