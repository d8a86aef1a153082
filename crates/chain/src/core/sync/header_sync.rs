//! Branches of peers whose headers are fetched and compared.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use primitives::Hash;

use crate::Header;
use crate::core::PeerId;
use crate::message::Status;
use crate::state::Branch;

/// A branch whose headers are being fetched from one peer and judged.
#[derive(Clone, Debug)]
pub(in crate::core) struct PeerBranch {
    pub(in crate::core) peer: PeerId,
    /// The peer's claim at the time of the question.
    pub(super) claim: Status,
    /// The judged branch, once the block at which it leaves our chain is known.
    pub(in crate::core) branch: Option<Branch>,
    pub(in crate::core) headers: Vec<(Header, Hash)>,
}

/// The peers that are asked for their branches, and the best branch delivered so far.
#[derive(Debug)]
pub(in crate::core) struct HeaderSync {
    /// Our tip and blocks at doubling distances below it.
    pub(super) locator: Vec<Hash>,
    /// Peers with an open question.
    pub(super) asking: Vec<PeerBranch>,
    /// All peers that were asked, including those that have answered.
    pub(super) asked: BTreeSet<PeerId>,
    pub(super) best: Option<PeerBranch>,
    /// Peers that delivered the best branch.
    pub(super) sources: BTreeSet<PeerId>,
    /// Time of the first better branch in this wave of questions.
    pub(super) better_since_ms: Option<u64>,
}

/// The outcome of judging one answer.
pub(super) enum HeaderVerdict {
    /// All headers count.
    Good,
    /// The headers before this point count. The next header's time, given here, is ahead of our clock.
    Early(u32),
    /// The headers before this point count. No row bounds the stake of the next header's forger.
    Unbounded,
    /// Our own chain has changed below the branch.
    Again,
    /// The branch begins after this height of our chain, which is too deep to judge.
    TooDeep(u32),
    /// The peer is at fault: points and code.
    Bad(u32, &'static str),
}

impl HeaderSync {
    pub(super) fn new(locator: Vec<Hash>) -> Self {
        Self {
            locator,
            asking: Vec::new(),
            asked: BTreeSet::new(),
            best: None,
            sources: BTreeSet::new(),
            better_since_ms: None,
        }
    }

    /// Enters a branch that is better than ours.
    pub(super) fn enter(&mut self, candidate: PeerBranch, now_ms: u64) {
        self.better_since_ms.get_or_insert(now_ms);
        let merit = |one: &PeerBranch| {
            let end = one.headers.last();
            end.map(|(header, hash)| (header.difficulty, Reverse(*hash)))
        };
        match self.best.as_ref().map(merit) {
            Some(best) if best > merit(&candidate) => {}
            Some(best) if best == merit(&candidate) => {
                self.sources.insert(candidate.peer);
            }
            _ => {
                self.sources = BTreeSet::from([candidate.peer]);
                self.best = Some(candidate);
            }
        }
    }
}
