//! Branches of peers whose headers are fetched and compared.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use primitives::Hash;

use crate::core::PeerId;
use crate::message::Status;
use crate::state::Branch;
use crate::{BlockTimestamp, ChainTime, Header, Height};

/// A branch whose headers are being fetched from one peer and judged.
#[derive(Clone, Debug)]
pub(in crate::core) struct PeerBranch {
    pub(in crate::core) peer: PeerId,
    /// The peer's claim at the time of the question.
    pub(super) claim: Status,
    /// The judged branch, once the block at which it leaves our chain is known.
    pub(in crate::core) branch: Option<Branch>,
    pub(in crate::core) headers: Vec<(Header, Hash)>,
    /// Whether the peer has more headers that were not fetched or cannot be judged yet.
    pub(super) has_more: bool,
}

impl PeerBranch {
    fn end(&self) -> Option<&(Header, Hash)> {
        self.headers.last()
    }

    /// Returns the cumulative work of the headers up to a time, or 0 before the first.
    fn work_at(&self, time: BlockTimestamp) -> u128 {
        let upto = self
            .headers
            .partition_point(|(header, _)| header.time <= time);
        let last = upto.checked_sub(1).and_then(|at| self.headers.get(at));
        last.map_or(0, |(header, _)| header.difficulty)
    }

    /// Compares the merit of two branches. If one is not known to its end, the work at the same time decides: a forger that takes
    /// more time for each block can put more work into the first headers than the honest forgers, and less into each minute.
    fn compare(&self, other: &Self) -> Ordering {
        let (Some((one, one_hash)), Some((two, two_hash))) = (self.end(), other.end()) else {
            return self.headers.len().cmp(&other.headers.len());
        };
        let at_same_time = match self.has_more || other.has_more {
            true => {
                let time = one.time.min(two.time);
                self.work_at(time).cmp(&other.work_at(time))
            }
            false => Ordering::Equal,
        };
        at_same_time
            .then(one.difficulty.cmp(&two.difficulty))
            .then(two_hash.cmp(one_hash))
    }
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
    pub(super) better_since: Option<ChainTime>,
}

/// The outcome of judging one answer.
pub(super) enum HeaderVerdict {
    /// All headers count.
    Good,
    /// The headers before this point count. The next header's time, given here, is ahead of our clock.
    Early(BlockTimestamp),
    /// The headers before this point count. No row bounds the stake of the next header's forger.
    Unbounded,
    /// Our own chain has changed below the branch.
    Again,
    /// The branch begins after this height of our chain, which is too deep to judge.
    TooDeep(Height),
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
            better_since: None,
        }
    }

    /// Enters a branch that is better than ours.
    pub(super) fn enter(&mut self, candidate: PeerBranch, now: ChainTime) {
        self.better_since.get_or_insert(now);
        match self.best.as_ref().map(|best| best.compare(&candidate)) {
            Some(Ordering::Greater) => {}
            Some(Ordering::Equal) => {
                self.sources.insert(candidate.peer);
            }
            Some(Ordering::Less) | None => {
                self.sources = BTreeSet::from([candidate.peer]);
                self.best = Some(candidate);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genesis::small_genesis;

    /// A branch of a peer with one header every so many seconds, each with so much work.
    fn branch(peer: u8, headers: u32, seconds: u32, work: u128, has_more: bool) -> PeerBranch {
        let genesis = small_genesis();
        let header = |height: Height| Header {
            height,
            time: BlockTimestamp::new(height.get() * seconds),
            previous: genesis.hash,
            forger: [peer; 32],
            generation: genesis.hash,
            base_target: crate::pos::BaseTarget::new(1),
            difficulty: u128::from(height.get()) * work,
            parent_count: 0,
            child_count: 0,
            body_bytes: 0,
            root: Hash::ZERO,
            signature: [0; 64],
        };
        let headers = Height::FIRST.through(Height::new(headers)).map(|height| {
            let hash = Hash::plain(&[&[peer][..], &height.to_be_bytes()].concat());
            (header(height), hash)
        });
        PeerBranch {
            peer: PeerId([peer; 32]),
            claim: Status {
                height: Height::GENESIS,
                tip: Hash::ZERO,
                difficulty: 0,
            },
            branch: None,
            headers: headers.collect(),
            has_more,
        }
    }

    #[test]
    fn branches_that_go_on_are_compared_at_the_same_time() {
        for (what, one, two, wins) in [
            (
                "more work for each header, less for each minute",
                branch(1, 1_024, 600, 58, true),
                branch(2, 1_024, 60, 33, true),
                2,
            ),
            (
                "a branch with more headers than can be judged of the other",
                branch(1, 1_744, 600, 58, true),
                branch(2, 1_440, 60, 33, true),
                2,
            ),
            (
                "both to their ends",
                branch(1, 1_000, 600, 58, false),
                branch(2, 1_000, 60, 33, false),
                1,
            ),
            (
                "the last block of one comes later",
                branch(1, 2, 60, 30, false),
                branch(2, 2, 61, 31, false),
                2,
            ),
        ] {
            for order in [[&one, &two], [&two, &one]] {
                let mut contest = HeaderSync::new(Vec::new());
                for candidate in order {
                    contest.enter(candidate.clone(), ChainTime::GENESIS);
                }
                let best = contest.best.expect("a best branch");
                assert_eq!(best.peer, PeerId([wins; 32]), "{what}");
            }
        }
    }
}
