//! Following the network. Peers' branches are first compared by their headers ([`super::contest`]). The best one is then
//! downloaded and applied.

use std::collections::BTreeSet;

use primitives::Hash;

use super::contest::{Candidate, Contest};
use super::download::Download;
use super::limits::{COOL_DOUBLINGS_MAX, COOL_DOWN_MS};
use super::{Core, PeerId};
use crate::message::LOCATOR_MAX;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::Branch;

/// The state of following the network.
#[derive(Debug)]
pub(super) struct Following {
    pub(super) state: State,
    /// The number of the current attempt. Answers to questions of another attempt are ignored.
    pub(super) number: u64,
    /// Number of peers asked for headers so far. It gives the order of the questions.
    pub(super) asked: u64,
    /// Our tip when headers of a branch last delayed forging.
    pub(super) held_back_on: Option<Hash>,
}

#[derive(Debug)]
pub(super) enum State {
    /// No peer that may be asked claims a better branch.
    Idle,
    /// The headers of peers' branches are fetched and judged.
    Headers(Box<Contest>),
    /// The bodies of a branch are fetched whose headers show it to be better.
    Bodies(Box<Download>),
}

impl Following {
    pub(super) fn new() -> Self {
        Self {
            state: State::Idle,
            number: 0,
            asked: 0,
            held_back_on: None,
        }
    }
}

impl<R: Reads<Table>> Core<R> {
    /// Looks for a branch to follow, or continues with the current one.
    pub(super) fn follow(&mut self) -> Result<(), StoreFailure> {
        if self.switch.is_some() {
            return Ok(());
        }
        match self.following.state {
            State::Bodies(_) => self.step_download(),
            State::Headers(_) => self.continue_contest(),
            State::Idle => self.begin_contest(),
        }
    }

    /// Returns the next time at which following continues without an event.
    pub(super) fn following_due_ms(&self) -> Option<u64> {
        match &self.following.state {
            State::Idle => {}
            State::Headers(contest) => return self.contest_due_ms(contest),
            State::Bodies(_) => {
                let busy = self.peers.iter().map(|(_, peer)| peer.busy_until_ms);
                return busy.filter(|until| *until > self.now_ms).min();
            }
        }
        self.peers
            .iter()
            .filter(|(_, peer)| {
                peer.cool_until_ms > self.now_ms
                    && peer
                        .status
                        .is_some_and(|status| self.is_better(status.difficulty, &status.tip))
            })
            .map(|(_, peer)| peer.cool_until_ms)
            .min()
    }

    /// Returns our tip and blocks at doubling distances below it, down to genesis.
    pub(super) fn locator(&self) -> Result<Vec<Hash>, StoreFailure> {
        let tip = self.rows.tip();
        let mut locator = vec![tip.hash];
        let (mut height, mut step) = (tip.height, 1);
        while height > 0 && locator.len() < LOCATOR_MAX - 1 {
            height = height.saturating_sub(step);
            step = step.saturating_mul(2);
            locator.extend(self.hash_at(height)?);
        }
        if locator.last() != Some(&self.genesis.hash) {
            locator.push(self.genesis.hash);
        }
        Ok(locator)
    }

    /// Ignores a peer for a while, without a penalty.
    pub(super) fn cool_down(&mut self, peer: PeerId) {
        self.leave_until(peer, self.now_ms + COOL_DOWN_MS);
    }

    /// Counts a failure of a peer that was followed. Each failure in a row doubles the peer's cool-down. A repeated claim does
    /// not reset the count, but a delivery does ([`Core::delivered`]).
    pub(super) fn failed(&mut self, peer: PeerId) {
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        let doublings = known.failures.min(COOL_DOUBLINGS_MAX);
        known.failures = known.failures.saturating_add(1);
        self.leave_until(peer, self.now_ms + (COOL_DOWN_MS << doublings));
    }

    /// Resets a peer's failures after it has delivered a body that joins or may join the chain.
    pub(super) fn delivered(&mut self, peer: PeerId) {
        if let Some(known) = self.peers.get_mut(&peer) {
            known.failures = 0;
        }
    }

    fn leave_until(&mut self, peer: PeerId, until_ms: u64) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.cool_until_ms = until_ms;
            peer.status = None;
            peer.status_due_ms = until_ms;
        }
    }

    /// Waits for a peer whose branch continues with a block of this time, which is ahead of our clock. The peer is asked again at
    /// that time, or after the cool-down if the block is beyond the drift.
    pub(super) fn wait_for(&mut self, peer: PeerId, time: u32) {
        if self.is_beyond_drift(time) {
            self.cool_down(peer);
        } else if let Some(peer) = self.peers.get_mut(&peer) {
            peer.cool_until_ms = u64::from(time) * 1_000;
        }
    }

    /// Returns whether the chain can be rolled back to a height, because the undo rows of the blocks above it exist. A branch
    /// that forks off below cannot be judged and is not followed.
    pub(super) fn may_be_taken_back(&self, height: u32) -> Result<bool, StoreFailure> {
        if height >= self.rows.tip().height {
            return Ok(true);
        }
        let first = height.saturating_add(1).to_be_bytes();
        Ok(self.rows.get(Table::Undo, &first)?.is_some())
    }

    /// Downloads the branch that won a contest, if it still beats ours. The download is limited to a length at which a better
    /// branch, delivered later, can still replace it.
    pub(super) fn follow_branch(
        &mut self,
        mut best: Candidate,
        givers: BTreeSet<PeerId>,
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
        let stored = |hash: &Hash| self.side.contains(hash);
        let tip = self.rows.tip().hash;
        let hold_ms = match self.following.held_back_on.replace(tip) {
            Some(before) if before == tip => 0,
            _ => self.hold_ms(),
        };
        let download = Download::new(
            self.following.number,
            best.peer,
            givers,
            best.headers,
            stored,
            self.now_ms,
            hold_ms,
        );
        self.following.state = State::Bodies(Box::new(download));
        self.step_download()
    }

    /// Returns whether a branch forks off deeper than the rollback limit. If it does, reports it and ignores its peer for a
    /// while.
    pub(super) fn is_too_deep(&mut self, candidate: &Candidate) -> bool {
        let common = candidate.branch.as_ref().map_or(0, Branch::common);
        let depth = self.rows.tip().height.saturating_sub(common);
        if depth <= self.genesis.params.rollback_blocks_max {
            return false;
        }
        if let Some((header, hash)) = candidate.headers.last() {
            self.report_deep(common, *hash, header.difficulty);
        }
        self.failed(candidate.peer);
        true
    }
}
