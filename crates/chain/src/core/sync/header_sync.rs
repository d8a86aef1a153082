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
pub(in crate::core) struct Candidate {
    pub(in crate::core) peer: PeerId,
    /// The peer's claim at the time of the question.
    pub(super) claim: Status,
    /// The judged branch, once the block at which it leaves our chain is known.
    pub(in crate::core) branch: Option<Branch>,
    pub(in crate::core) headers: Vec<(Header, Hash)>,
}

/// The peers that are asked for their branches, and the best branch delivered so far.
#[derive(Debug)]
pub(in crate::core) struct Contest {
    /// Our tip and blocks at doubling distances below it.
    pub(super) locator: Vec<Hash>,
    /// Peers with an open question.
    pub(super) asking: Vec<Candidate>,
    /// All peers that were asked, including those that have answered.
    pub(super) asked: BTreeSet<PeerId>,
    pub(super) best: Option<Candidate>,
    /// Peers that delivered the best branch.
    pub(super) givers: BTreeSet<PeerId>,
    /// Time of the first better branch in this wave of questions.
    pub(super) better_since_ms: Option<u64>,
}

/// The outcome of judging one answer.
pub(super) enum Finding {
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

impl Contest {
    pub(super) fn new(locator: Vec<Hash>) -> Self {
        Self {
            locator,
            asking: Vec::new(),
            asked: BTreeSet::new(),
            best: None,
            givers: BTreeSet::new(),
            better_since_ms: None,
        }
    }

    /// Enters a branch that is better than ours.
    pub(super) fn enter(&mut self, candidate: Candidate, now_ms: u64) {
        self.better_since_ms.get_or_insert(now_ms);
        let merit = |one: &Candidate| {
            let end = one.headers.last();
            end.map(|(header, hash)| (header.difficulty, Reverse(*hash)))
        };
        match self.best.as_ref().map(merit) {
            Some(best) if best > merit(&candidate) => {}
            Some(best) if best == merit(&candidate) => {
                self.givers.insert(candidate.peer);
            }
            _ => {
                self.givers = BTreeSet::from([candidate.peer]);
                self.best = Some(candidate);
            }
        }
    }
}
