//! The order and the pace of the data marks that peers get.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use ledger::PartyId;
use primitives::Monotonic;

/// Shortest time between two turns, in milliseconds.
pub const MARK_EVERY_MS: u64 = 1_000;
/// Maximum number of peers that get marks in one turn.
pub const MARKED_AT_ONCE_MAX: usize = 128;

/// The peers that get marks, and whose turn is next.
///
/// # Invariants
/// - Once the data has grown, every peer gets a mark: at most [`MARKED_AT_ONCE_MAX`] of them each [`MARK_EVERY_MS`]. A peer that
///   connects gets its mark outside of the turns and delays none of them.
/// - There is one entry for each connected peer, so the network map bounds them.
#[derive(Debug)]
pub(crate) struct MarkTurns {
    peers: BTreeSet<PartyId>,
    /// The peer that got a mark last, while others still wait for theirs.
    after: Option<PartyId>,
    /// The number that the data had reached when the last series of turns began.
    number: u64,
    /// The time of the last turn.
    at: Monotonic,
}

impl MarkTurns {
    /// Creates the turns of a node that starts with data that has reached a number.
    pub(crate) fn new(number: u64) -> Self {
        Self {
            peers: BTreeSet::new(),
            after: None,
            number,
            at: Monotonic::START,
        }
    }

    /// Adds a peer that gets its first mark at its connection.
    pub(crate) fn add(&mut self, peer: PartyId) {
        self.peers.insert(peer);
    }

    /// Removes a peer whose connection has ended.
    pub(crate) fn remove(&mut self, peer: &PartyId) {
        self.peers.remove(peer);
    }

    /// Returns the peers that get marks.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &PartyId> {
        self.peers.iter()
    }

    /// Returns the time of the next turn, or `None` if no peer waits for a mark of data that has reached a number.
    pub(crate) fn next(&self, number: u64) -> Option<Monotonic> {
        let is_due = number > self.number || self.after.is_some();
        let is_due = is_due && !self.peers.is_empty();
        is_due.then(|| self.at.plus_ms(MARK_EVERY_MS)).flatten()
    }

    /// Takes a turn if it is due. Returns the peers that get marks now.
    pub(crate) fn take(&mut self, number: u64, now: Monotonic) -> Vec<PartyId> {
        if self.next(number).is_none_or(|next| next > now) {
            return Vec::new();
        }
        let from = match self.after {
            Some(last) => Excluded(last),
            None => {
                self.number = number;
                Unbounded
            }
        };
        let mut waiting = self.peers.range((from, Unbounded)).copied();
        let marked: Vec<PartyId> = waiting.by_ref().take(MARKED_AT_ONCE_MAX).collect();
        let is_last = waiting.next().is_none();
        self.after = marked.last().copied().filter(|_| !is_last);
        self.at = now;
        marked
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    fn peer(number: u8) -> PartyId {
        PartyId::from_hash(Hash::plain(&[number]))
    }

    fn at(ms: u64) -> Monotonic {
        Monotonic::from_ms(ms)
    }

    #[test]
    fn peers_get_marks_once_a_second_while_the_data_grows() {
        let mut turns = MarkTurns::new(5);
        turns.add(peer(1));
        // Each line: the time in ms, the number of the data, how many get a mark.
        for (ms, number, marked) in [
            (5_000, 5, 0),
            (5_010, 6, 1),
            (5_020, 7, 0),
            (6_009, 7, 0),
            (6_010, 7, 1),
            (9_000, 7, 0),
            (9_001, 8, 1),
        ] {
            assert_eq!(turns.take(number, at(ms)).len(), marked, "{ms} ms");
        }
        turns.remove(&peer(1));
        assert_eq!(turns.next(9), None);
    }

    #[test]
    fn a_peer_that_connects_again_and_again_delays_no_mark() {
        let mut turns = MarkTurns::new(0);
        turns.add(peer(1));
        let mut marks = 0;
        for step in 1..=100 {
            turns.remove(&peer(2));
            turns.add(peer(2));
            marks += turns.take(step, at(step * 100)).len();
        }
        assert_eq!(marks, 2 * 10, "each of two peers, for each of ten seconds");
    }

    #[test]
    fn all_of_many_peers_get_a_mark_after_the_data_has_grown() {
        let mut turns = MarkTurns::new(0);
        let peers: BTreeSet<PartyId> = (0..=u8::MAX)
            .flat_map(|n| [Hash::plain(&[n]), Hash::plain(&[n, n])])
            .map(PartyId::from_hash)
            .collect();
        peers.iter().for_each(|peer| turns.add(*peer));
        let mut marked = Vec::new();
        let mut now = at(0);
        while let Some(next) = turns.next(1) {
            now = next;
            let these = turns.take(1, now);
            assert!(these.len() <= MARKED_AT_ONCE_MAX);
            marked.extend(these);
        }
        assert_eq!(marked, Vec::from_iter(peers), "each of them once");
        assert_eq!(now, at(4 * MARK_EVERY_MS));
    }
}
