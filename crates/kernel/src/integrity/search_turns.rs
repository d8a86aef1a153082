//! The turns of peers that ask for a search of this node's ledger.

use std::collections::BTreeMap;

use ledger::PartyId;
use primitives::Monotonic;

/// Pause between two requests that are served, of all peers together, in milliseconds.
pub const RECOVERY_PAUSE_MS: u64 = 40;
/// Time after a request during which a peer counts as one that is asking, in milliseconds.
const ASKING_MS: u64 = 10 * RECOVERY_PAUSE_MS;

/// The pace of searches, for all peers together and for each of them.
///
/// # Invariants
/// - One search runs in [`RECOVERY_PAUSE_MS`].
/// - A peer that was served waits for one more pause for each other peer that is asking. A peer that asks without a pause therefore
///   takes no more turns than the others.
/// - There is one entry for each peer that has asked of late, so the network map bounds them.
#[derive(Debug, Default)]
pub(crate) struct SearchTurns {
    /// No search runs before this time.
    next: Monotonic,
    peers: BTreeMap<PartyId, Turn>,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    asked: Monotonic,
    /// No search for this peer runs before this time.
    next: Monotonic,
}

impl SearchTurns {
    /// Takes the turn of a peer that asks. Returns false if the peer must ask again after [`RECOVERY_PAUSE_MS`].
    pub(crate) fn take(&mut self, peer: PartyId, now: Monotonic) -> bool {
        let is_asking = |turn: &Turn| {
            let passed = now.since_ms(turn.asked);
            now < turn.next || passed.is_none_or(|ms| ms < ASKING_MS)
        };
        self.peers.retain(|_, turn| is_asking(turn));
        let turn = self.peers.entry(peer).or_insert(Turn {
            asked: now,
            next: now,
        });
        turn.asked = now;
        if now < self.next || now < turn.next {
            return false;
        }
        let pauses = self.peers.len() as u64;
        let after = |pauses: u64| now.after_ms(RECOVERY_PAUSE_MS * pauses);
        self.next = after(1);
        if let Some(turn) = self.peers.get_mut(&peer) {
            turn.next = after(pauses);
        }
        assert!(self.next >= now, "a search is due before the present one");
        true
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    fn peer(number: u8) -> PartyId {
        PartyId::from_hash(Hash::plain(&[number]))
    }

    /// Lets peers ask at the times `(peer, first, every)` in milliseconds for a minute. Returns the searches for each peer.
    fn searches(asking: &[(u8, u64, u64)]) -> Vec<u64> {
        let mut turns = SearchTurns::default();
        let mut found = vec![0; asking.len()];
        for ms in 0..60_000 {
            for (at, (number, first, every)) in asking.iter().enumerate() {
                if ms >= *first && (ms - first) % every == 0 {
                    let now = Monotonic::from_ms(ms);
                    found[at] += u64::from(turns.take(peer(*number), now));
                }
            }
        }
        found
    }

    #[test]
    fn a_peer_that_asks_alone_has_all_turns() {
        assert_eq!(searches(&[(1, 0, 1)]), [1_500]);
        assert_eq!(searches(&[(1, 0, 40)]), [1_500]);
    }

    #[test]
    fn a_peer_that_asks_all_the_time_leaves_the_others_their_turns() {
        for asking in [
            vec![(1, 0, 1), (2, 7, 40)],
            vec![(1, 0, 1), (2, 7, 40), (3, 11, 41)],
            vec![(1, 0, 1), (2, 0, 1), (3, 0, 1), (4, 13, 40)],
        ] {
            let found = searches(&asking);
            let fair = 1_500 / asking.len() as u64;
            for (count, peer) in found.iter().zip(&asking) {
                assert!(*count >= fair / 2, "{peer:?} of {asking:?}: {found:?}");
            }
            assert!(found.iter().sum::<u64>() <= 1_500, "{found:?}");
        }
    }

    #[test]
    fn entries_of_peers_that_stopped_asking_are_dropped() {
        let mut turns = SearchTurns::default();
        for number in 0..200 {
            turns.take(peer(number), Monotonic::from_ms(1));
        }
        turns.take(peer(0), Monotonic::from_ms(60_000));
        assert_eq!(turns.peers.len(), 1);
    }
}
