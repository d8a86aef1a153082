//! The peers that have not answered for a transaction. They decide when a transaction is *delivered* for the clients that wait
//! for it.

use std::collections::BTreeMap;

use ledger::{PartyId, TxId};
use primitives::collections::HashMap;

use crate::peers::refusals::Refusals;

/// Maximum number of transactions for which the unanswered peers are tracked. For any further one, a client that waits for
/// delivery is told at once that the flow has ended and is not delivered.
pub const OWED_TRACKED_MAX: usize = 100_000;

/// The progress of a transaction's delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No participant lacks it.
    Delivered,
    /// A participant has not answered.
    Unanswered,
    /// A participant refused it, or more is owed than is kept in mind.
    NotDelivered,
}

/// The transactions that are not delivered to all their participants yet.
pub struct Unanswered {
    peers: HashMap<TxId, Vec<PartyId>>,
    /// Number of delivery rows in the store, by peer. No peer has 0.
    rows: BTreeMap<PartyId, u64>,
    /// Number of rows that `peers` does not hold, because it was full.
    untracked: u64,
    /// The refusals of participants.
    pub(crate) refusals: Refusals,
}

impl Unanswered {
    /// Creates an empty set.
    pub(crate) fn new(refusals: Refusals) -> Self {
        Self {
            peers: HashMap::default(),
            rows: BTreeMap::new(),
            untracked: 0,
            refusals,
        }
    }

    /// Adds a delivery row that was written, or found at the start.
    pub fn add(&mut self, peer: PartyId, id: TxId) {
        *self.rows.entry(peer).or_default() += 1;
        let full = self.peers.len() >= OWED_TRACKED_MAX;
        match self.peers.get_mut(&id) {
            // A second row for the same peer is answered on its own.
            Some(peers) if peers.contains(&peer) => self.untracked += 1,
            Some(peers) => peers.push(peer),
            None if full => self.untracked += 1,
            None => drop(self.peers.insert(id, vec![peer])),
        }
    }

    /// Returns whether a peer is known to have left the transaction unanswered.
    pub fn owes(&self, peer: &PartyId, id: &TxId) -> bool {
        self.peers.get(id).is_some_and(|peers| peers.contains(peer))
    }

    /// Notes that a row was answered. Returns whether no peer owes an answer for the transaction now.
    pub fn answered(&mut self, peer: &PartyId, id: &TxId) -> bool {
        if let Some(rows) = self.rows.get_mut(peer) {
            *rows -= 1;
            if *rows == 0 {
                self.rows.remove(peer);
            }
        }
        let peers = self.peers.get_mut(id);
        let Some(peers) = peers.filter(|peers| peers.contains(peer)) else {
            self.untracked -= 1;
            return false;
        };
        peers.retain(|other| other != peer);
        if peers.is_empty() {
            self.peers.remove(id);
            return true;
        }
        false
    }

    /// Returns the progress of a transaction's delivery.
    pub fn standing(&self, id: &TxId) -> Standing {
        if self.peers.contains_key(id) {
            Standing::Unanswered
        } else if self.untracked > 0 || self.refusals.contains(id) {
            Standing::NotDelivered
        } else {
            Standing::Delivered
        }
    }

    /// Returns the peers that have not answered for a transaction, if they are tracked.
    pub(crate) fn peers_of(&self, id: &TxId) -> &[PartyId] {
        self.peers.get(id).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of delivery rows in the store.
    pub fn rows(&self) -> u64 {
        self.rows.values().sum()
    }

    /// Returns the number of delivery rows of each peer that has any.
    pub(crate) fn rows_by_peer(&self) -> impl Iterator<Item = (PartyId, u64)> {
        self.rows.iter().map(|(peer, rows)| (*peer, *rows))
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    #[test]
    fn a_transaction_is_delivered_when_all_have_it() {
        let mut owed = Unanswered::new(Refusals::default());
        let [a, b] = [b"a", b"b"].map(|name| PartyId::from_hash(Hash::plain(name)));
        let [x, y] = [1, 2].map(|byte| TxId::from_array([byte; 32]));
        owed.add(a, x);
        owed.add(b, x);
        owed.add(a, y);
        assert_eq!((owed.rows(), owed.standing(&x)), (3, Standing::Unanswered));
        let by_peer = |owed: &Unanswered| owed.rows_by_peer().collect::<BTreeMap<_, _>>();
        assert_eq!(by_peer(&owed), BTreeMap::from([(a, 2), (b, 1)]));
        assert_eq!(owed.peers_of(&x), [a, b]);
        assert!(!owed.answered(&a, &x) && !owed.owes(&a, &x) && owed.owes(&b, &x));
        assert_eq!(owed.peers_of(&x), [b]);
        assert!(owed.answered(&b, &x));
        assert_eq!(by_peer(&owed), BTreeMap::from([(a, 1)]));
        assert!(owed.peers_of(&x).is_empty());
        assert_eq!(owed.standing(&x), Standing::Delivered);
        let why = ledger::Rejection::new("test.no", "no", "none");
        owed.refusals.add(y, a, &why, &mut Default::default());
        assert!(owed.answered(&a, &y));
        assert_eq!(owed.standing(&y), Standing::NotDelivered);
        assert_eq!((owed.rows(), by_peer(&owed)), (0, BTreeMap::new()));
    }

    #[test]
    fn what_is_not_kept_in_mind_is_never_called_delivered() {
        let mut owed = Unanswered::new(Refusals::default());
        let peer = PartyId::from_hash(Hash::ZERO);
        let id = |n: usize| TxId::from_array(*Hash::plain(&n.to_be_bytes()).as_bytes());
        (0..=OWED_TRACKED_MAX).for_each(|n| owed.add(peer, id(n)));
        assert_eq!(owed.standing(&id(OWED_TRACKED_MAX)), Standing::NotDelivered);
        assert!(!owed.answered(&peer, &id(OWED_TRACKED_MAX)));
        assert_eq!(owed.standing(&id(OWED_TRACKED_MAX)), Standing::Delivered);
    }

    #[test]
    fn two_rows_for_one_peer_are_answered_one_by_one() {
        let mut owed = Unanswered::new(Refusals::default());
        let peer = PartyId::from_hash(Hash::ZERO);
        let [x, y] = [b"x", b"y"].map(|name| TxId::from_array(*Hash::plain(name).as_bytes()));
        owed.add(peer, x);
        owed.add(peer, x);
        assert!(owed.answered(&peer, &x));
        assert_eq!(owed.standing(&y), Standing::NotDelivered);
        assert!(!owed.answered(&peer, &x));
        assert_eq!(owed.standing(&y), Standing::Delivered);
    }

    #[test]
    fn an_answer_for_a_row_that_is_not_tracked_counts_as_its_own() {
        let mut owed = Unanswered::new(Refusals::default());
        let [a, b] = [1, 2].map(|byte| PartyId::from_array([byte; 32]));
        let id = |n: usize| TxId::from_array(*Hash::plain(&n.to_be_bytes()).as_bytes());
        (0..OWED_TRACKED_MAX).for_each(|n| owed.add(a, id(n)));
        let x = id(OWED_TRACKED_MAX);
        owed.add(a, x);
        // There is room for the second row of the transaction.
        assert!(owed.answered(&a, &id(0)));
        owed.add(b, x);
        assert!(!owed.answered(&a, &x));
        assert_eq!(owed.standing(&x), Standing::Unanswered);
        assert!(owed.answered(&b, &x));
        assert_eq!(owed.standing(&x), Standing::Delivered);
    }
}
