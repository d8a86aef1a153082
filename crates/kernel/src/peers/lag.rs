//! How far peers lag behind with deliveries. New starts wait while a peer that keeps up has too many unanswered ones.
//!
//! Only peers that will catch up within [`CATCH_UP_MS`] count. A peer that is away, or that needs longer for its deliveries,
//! delays no start: its deliveries wait on the disk. Deliveries that a peer leaves unanswered while it answers others do not
//! count either.

use std::collections::BTreeMap;

use ledger::PartyId;
use primitives::Monotonic;

use crate::flows::admission::Pace;

/// Number of unanswered deliveries at responsive peers from which on no flow of a client is begun.
pub const AHEAD_MAX: usize = 2_048;
/// Time without an answer after which a peer counts as silent, in milliseconds. Its deliveries delay no start.
pub const SILENCE_MS: u64 = 3_000;
/// Maximum estimated time in which a peer can answer all its deliveries, in milliseconds. The deliveries of a slower peer delay no
/// start.
pub const CATCH_UP_MS: u64 = 30_000;

/// The unanswered deliveries of each peer that is owed any.
#[derive(Debug, Default)]
pub(crate) struct DeliveryLag {
    peers: BTreeMap<PartyId, Peer>,
}

#[derive(Debug)]
struct Peer {
    rows: usize,
    /// The time of its last answer, or of the first delivery that it owes.
    heard: Monotonic,
    pace: Pace,
}

impl DeliveryLag {
    /// Counts another delivery that a peer has not answered.
    pub(crate) fn owe(&mut self, peer: PartyId, now: Monotonic) {
        let peer = self.peers.entry(peer).or_insert_with(|| Peer {
            rows: 0,
            heard: now,
            pace: Pace::since(now),
        });
        peer.rows += 1;
    }

    /// Counts an answer of a peer to a delivery.
    pub(crate) fn answered(&mut self, peer: &PartyId, now: Monotonic) {
        let Some(found) = self.peers.get_mut(peer) else {
            return;
        };
        found.rows -= 1;
        found.heard = now;
        found.pace.ended(now);
        if found.rows == 0 {
            self.peers.remove(peer);
        }
    }

    /// Returns the number of unanswered deliveries at responsive peers, without those that a peer leaves unanswered while it
    /// answers others (`aside`).
    pub(crate) fn rows(&self, now: Monotonic, aside: impl Fn(&PartyId) -> usize) -> usize {
        let rows = self.peers.iter().map(|(id, peer)| {
            // Clipped at 0: the rows that a peer leaves aside are counted later than the others.
            let rows = peer.rows.saturating_sub(aside(id));
            let near =
                now.passed_ms(peer.heard) <= SILENCE_MS && peer.pace.wait_ms(rows) <= CATCH_UP_MS;
            if near { rows } else { 0 }
        });
        rows.sum()
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    #[test]
    fn peers_count_while_they_answer_and_will_catch_up() {
        let at = |ms: u64| Monotonic::from_ms(1_000_000 + ms);
        let peer = PartyId::from_hash(Hash::ZERO);
        // Deliveries owed at first, number answered and the time of it, time of the question, and the expected count. Times are
        // in milliseconds.
        for (owed, answered, after, asked, rows) in [
            (5, 0, 0, 0, 5),
            (5, 0, 0, SILENCE_MS, 5),
            (5, 0, 0, SILENCE_MS + 1, 0),
            (5, 1, 600, SILENCE_MS + 600, 4),
            (5, 5, 600, 600, 0),
            // One a second: it would need longer than is waited for.
            (1_000, 1, 1_000, 1_000, 0),
            (1_000, 100, 400, 1_000, 900),
        ] {
            let mut ahead = DeliveryLag::default();
            (0..owed).for_each(|_| ahead.owe(peer, at(0)));
            (0..answered).for_each(|_| ahead.answered(&peer, at(after)));
            let found = ahead.rows(at(asked), |_| 0);
            assert_eq!(
                found, rows,
                "{answered} of {owed} after {after} ms, at {asked} ms"
            );
            let left_aside = ahead.rows(at(asked), |_| rows);
            assert_eq!(left_aside, 0, "all that would count is aside");
            assert_eq!(ahead.peers.is_empty(), owed == answered);
            ahead.answered(&PartyId::from_hash(Hash::plain(b"another")), at(asked));
        }
    }
}
