//! How far this node is ahead of peers that take deliveries more slowly than it finishes flows: what new starts wait for.
//!
//! Only peers that keep up in a foreseeable time count. One that is away, or that would need minutes for what it is owed, holds up
//! nobody: what it is owed waits on the disk. Nor does what a peer leaves unanswered while it answers the rest.

use std::collections::BTreeMap;

use ledger::PartyId;
use primitives::Monotonic;

use crate::flows::admission::Pace;

/// Deliveries not answered by peers that answer; with so many no flow of a client is begun.
pub const AHEAD_MAX: usize = 2_048;
/// A peer that has answered nothing for so long, in milliseconds, does not count.
pub const SILENCE_MS: u64 = 3_000;
/// A peer that would need longer for what it is owed, in milliseconds, does not count.
pub const CATCH_UP_MS: u64 = 30_000;

/// See the module. One entry for each peer that is owed something.
#[derive(Debug, Default)]
pub(crate) struct DeliveryLag {
    peers: BTreeMap<PartyId, Peer>,
}

#[derive(Debug)]
struct Peer {
    rows: usize,
    /// When it answered last, or was first owed something.
    heard: Monotonic,
    pace: Pace,
}

impl DeliveryLag {
    /// A peer is owed another delivery.
    pub(crate) fn owe(&mut self, peer: PartyId, now: Monotonic) {
        let peer = self.peers.entry(peer).or_insert_with(|| Peer {
            rows: 0,
            heard: now,
            pace: Pace::since(now),
        });
        peer.rows += 1;
    }

    /// A peer has answered one.
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

    /// Deliveries that peers which answer have not answered yet, without the many of each that it leaves `aside`.
    pub(crate) fn rows(&self, now: Monotonic, aside: impl Fn(&PartyId) -> usize) -> usize {
        let rows = self.peers.iter().map(|(id, peer)| {
            let rows = peer.rows.saturating_sub(aside(id));
            let near = now.since_ms(peer.heard).unwrap_or(0) <= SILENCE_MS
                && peer.pace.wait_ms(rows) <= CATCH_UP_MS;
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
        // Owed at first, answered after so many milliseconds, asked after so many: what counts.
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
