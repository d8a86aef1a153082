//! Moves fetches between their stages: chooses the source, queues, sets timers, and ends.

use ledger::PartyId;
use primitives::Hash;

use super::Receiving;
use crate::event::{Action, Failure};
use crate::fetch::{FetchState, Source};
use crate::inbound::{Inbound, is_large};
use crate::out::Out;
use crate::time::later;

/// Maximum number of ended fetches that are remembered, because their bytes may still arrive.
const ENDED_MAX: usize = 256;

impl Receiving {
    /// Handles a failure of the current source: tries the next one, if there is one. A disk failure ends the fetch for all
    /// sources.
    pub(super) fn fail(&mut self, hash: Hash, failure: Failure, out: &mut Out<'_>) {
        self.leave(hash, out);
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        let all = matches!(failure, Failure::Disk { .. });
        let count = if all { fetch.sources.len() } else { 1 };
        let failed: Vec<Source> = fetch.sources.drain(..count).collect();
        let left = !fetch.sources.is_empty();
        for source in failed {
            out.failed(hash, source.peer, failure);
            if let Some(inbound) = self.peers.get_mut(&source.peer) {
                inbound.own.remove(&hash);
            }
            self.tidy(source.peer);
        }
        if left {
            if let Some(fetch) = self.fetches.get_mut(&hash) {
                fetch.asked_again = 0;
            }
            self.enlist(out.now_ms, hash);
        } else {
            self.forget(hash);
        }
    }

    /// Makes the first connected source the current one, if any source is connected.
    pub(super) fn next_source(&mut self, hash: Hash) {
        if let Some(fetch) = self.fetches.get_mut(&hash)
            && let Some(peer) = fetch.source().map(|source| source.peer)
            && let Some(at) = fetch
                .sources
                .iter()
                .position(|source| self.peers.get(&source.peer).is_some_and(|peer| peer.up))
        {
            fetch.sources.rotate_left(at);
            if let Some(inbound) = self.peers.get_mut(&peer) {
                inbound.own.remove(&hash);
            }
            self.tidy(peer);
        }
    }

    /// Queues a fetch until its source may be asked, or if the source is disconnected, starts the wait for it.
    pub(super) fn enlist(&mut self, now: u64, hash: Hash) {
        let away_ms = self.options.away_ms;
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        let Some(source) = fetch.source() else { return };
        let inbound = self.peers.entry(source.peer).or_default();
        inbound.own.insert(hash);
        if fetch.state == FetchState::Publishing {
            return;
        }
        fetch.offer = None;
        if inbound.up {
            fetch.state = FetchState::Queued { pausing: false };
            inbound.wanting.insert((fetch.order, hash));
            self.disarm(hash);
        } else {
            fetch.state = FetchState::Away;
            self.arm(hash, later(now, away_ms));
        }
    }

    /// Gives up the fetch's place, and closes its open part.
    pub(super) fn leave(&mut self, hash: Hash, out: &mut Out<'_>) {
        let state = self.fetches.get(&hash).map(|fetch| fetch.state);
        if matches!(state, Some(FetchState::Opening | FetchState::Moving)) {
            out.act(Action::Close {
                hash,
                discard: false,
            });
        }
        self.leave_silently(hash);
    }

    pub(super) fn leave_silently(&mut self, hash: Hash) {
        self.disarm(hash);
        let chunk_bytes = self.options.chunk_bytes;
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        let Some(source) = fetch.source() else { return };
        let (size, order, late) = (fetch.size(), fetch.order, fetch.on_the_way());
        let Some(inbound) = self.peers.get_mut(&source.peer) else {
            return;
        };
        match fetch.state {
            FetchState::Away => {}
            FetchState::Queued { .. } => {
                inbound.wanting.remove(&(order, hash));
            }
            FetchState::Wanted => inbound.wanted -= 1,
            FetchState::Offered => inbound.withdraw(size, order, hash),
            FetchState::Opening | FetchState::Moving | FetchState::Publishing => {
                inbound.moving.remove(&hash);
                inbound.large -= usize::from(is_large(size, chunk_bytes));
            }
        }
        fetch.state = FetchState::Away;
        fetch.asked = 0;
        fetch.received = 0;
        fetch.written = 0;
        self.may_come_late(source.peer, late);
    }

    pub(super) fn forget(&mut self, hash: Hash) {
        let Some(fetch) = self.fetches.remove(&hash) else {
            return;
        };
        for source in fetch.sources {
            if let Some(inbound) = self.peers.get_mut(&source.peer) {
                inbound.own.remove(&hash);
            }
            self.tidy(source.peer);
        }
        if self.ended.len() >= ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(hash);
    }

    pub(super) fn tidy(&mut self, peer: PartyId) {
        if self.peers.get(&peer).is_some_and(Inbound::is_idle) {
            self.peers.remove(&peer);
        }
    }

    pub(crate) fn arm(&mut self, hash: Hash, at: u64) {
        self.disarm(hash);
        if let Some(fetch) = self.fetches.get_mut(&hash) {
            fetch.timer = Some(at);
            self.timers.insert((at, hash));
        }
    }

    pub(super) fn disarm(&mut self, hash: Hash) {
        if let Some(fetch) = self.fetches.get_mut(&hash)
            && let Some(at) = fetch.timer.take()
        {
            self.timers.remove(&(at, hash));
        }
    }

    pub(crate) fn next_wakeup(&self) -> Option<u64> {
        let timer = self.timers.first().map(|(at, _)| *at);
        [timer, self.bucket_at].into_iter().flatten().min()
    }
}
