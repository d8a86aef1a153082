//! Deliveries that participants cannot record for now, with the reasons that they told: for the operator, who would see
//! nothing but a delivery without an answer.
//!
//! A reason decides nothing: the delivery is repeated with or without one. It is not stored, as it comes again with the
//! answer to the next repetition.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::{PartyId, Rejection, TxId};
use primitives::Timestamp;

/// Reasons kept of all peers.
const KEPT_MAX: usize = 4_096;
/// Reasons kept of one peer.
const KEPT_OF_PEER_MAX: usize = 256;
/// Reasons shown.
pub const WAITING_SHOWN_MAX: usize = 100;

/// A delivery that its receiver cannot record for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingDelivery {
    /// The receiver.
    pub peer: PartyId,
    /// The transaction.
    pub transaction: TxId,
    /// The receiver's reason, in its own words.
    pub rejection: Rejection,
    /// When it was told first.
    pub since: Timestamp,
}

/// Reasons by receiver and transaction; bounded by [`KEPT_MAX`] and [`KEPT_OF_PEER_MAX`].
#[derive(Debug, Default)]
pub(crate) struct DeliveryWaits {
    told: BTreeMap<(PartyId, TxId), (Rejection, Timestamp)>,
    of_peer: BTreeMap<PartyId, usize>,
    shown: Arc<[WaitingDelivery]>,
}

impl DeliveryWaits {
    /// Notes a reason. Without room for one more it is not kept.
    pub(super) fn note(
        &mut self,
        peer: PartyId,
        transaction: TxId,
        rejection: Rejection,
        now: Timestamp,
    ) {
        let key = (peer, transaction);
        if let Some((known, _)) = self.told.get_mut(&key) {
            if *known != rejection {
                *known = rejection;
                self.show();
            }
            return;
        }
        let of_peer = self.of_peer.get(&peer).copied().unwrap_or_default();
        if self.told.len() >= KEPT_MAX || of_peer >= KEPT_OF_PEER_MAX {
            return;
        }
        self.of_peer.insert(peer, of_peer + 1);
        self.told.insert(key, (rejection, now));
        self.show();
    }

    /// The delivery is answered.
    pub(crate) fn answered(&mut self, peer: PartyId, transaction: TxId) {
        if self.told.remove(&(peer, transaction)).is_none() {
            return;
        }
        if let Some(of_peer) = self.of_peer.get_mut(&peer) {
            *of_peer -= 1;
            if *of_peer == 0 {
                self.of_peer.remove(&peer);
            }
        }
        self.show();
    }

    pub(crate) fn len(&self) -> usize {
        self.told.len()
    }

    /// Some of them, in order of receiver and transaction.
    pub(crate) fn shown(&self) -> Arc<[WaitingDelivery]> {
        Arc::clone(&self.shown)
    }

    fn show(&mut self) {
        let first = self.told.iter().take(WAITING_SHOWN_MAX);
        let shown = first.map(
            |((peer, transaction), (rejection, since))| WaitingDelivery {
                peer: *peer,
                transaction: *transaction,
                rejection: rejection.clone(),
                since: *since,
            },
        );
        self.shown = shown.collect();
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    fn peer(n: u64) -> PartyId {
        PartyId::from_hash(Hash::plain(&n.to_be_bytes()))
    }

    fn transaction(n: u64) -> TxId {
        TxId::from_array(*Hash::plain(&n.to_be_bytes()).as_bytes())
    }

    #[test]
    fn no_peer_fills_the_reasons() {
        let mut waits = DeliveryWaits::default();
        let reason = Rejection::new("tx.too_large", "too large", "");
        let at = Timestamp::from_ms(1);
        for n in 0..10_000 {
            waits.note(peer(0), transaction(n), reason.clone(), at);
        }
        assert_eq!(waits.len(), KEPT_OF_PEER_MAX);
        for n in 0..10_000 {
            waits.note(peer(n), transaction(1), reason.clone(), at);
        }
        assert_eq!(waits.len(), KEPT_MAX);
        assert_eq!(waits.shown().len(), WAITING_SHOWN_MAX);
        for n in 0..10_000 {
            waits.answered(peer(0), transaction(n));
            waits.answered(peer(n), transaction(1));
        }
        assert_eq!((waits.len(), waits.of_peer.len()), (0, 0));
        assert!(waits.shown().is_empty());
    }

    #[test]
    fn the_last_reason_and_the_first_time_count() {
        let mut waits = DeliveryWaits::default();
        for (code, at) in [("tx.too_large", 1), ("tx.notary_unknown", 2)] {
            let reason = Rejection::new(code, "no", "");
            waits.note(peer(1), transaction(1), reason, Timestamp::from_ms(at));
        }
        let shown = waits.shown();
        assert_eq!(shown.len(), 1);
        assert_eq!(shown[0].rejection.code, "tx.notary_unknown");
        assert_eq!(shown[0].since, Timestamp::from_ms(1));
    }
}
