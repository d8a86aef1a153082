//! The reasons of peers that cannot record a delivery at present, for the operator.
//!
//! A reason decides nothing: the delivery is repeated with or without one. It is not stored, because the peer gives it again when
//! the delivery is repeated.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::{PartyId, Rejection, TxId};
use primitives::Timestamp;

/// Reasons kept of all peers.
const KEPT_MAX: usize = 4_096;
/// Reasons kept of one peer.
const KEPT_OF_PEER_MAX: usize = 256;
/// The reason for which a receiver cannot record a delivery at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitReason {
    /// The receiver's reason, in its own words.
    pub rejection: Rejection,
    /// The time of the receiver's first reason.
    pub since: Timestamp,
}

/// Reasons by receiver and transaction.
pub type WaitReasons = BTreeMap<(PartyId, TxId), Arc<WaitReason>>;

/// The reasons that receivers gave; bounded by [`KEPT_MAX`] and [`KEPT_OF_PEER_MAX`].
#[derive(Debug, Default)]
pub(crate) struct DeliveryWaits {
    /// Shared with the figures of the last round. The first change after that copies it, at most once a round.
    reasons: Arc<WaitReasons>,
    of_peer: BTreeMap<PartyId, usize>,
}

impl DeliveryWaits {
    /// Keeps a reason if there is room for it.
    pub(super) fn note(
        &mut self,
        peer: PartyId,
        transaction: TxId,
        rejection: Rejection,
        now: Timestamp,
    ) {
        let key = (peer, transaction);
        let known = self.reasons.get(&key).map(|reason| reason.since);
        if known.is_none() {
            let of_peer = self.of_peer.get(&peer).copied().unwrap_or_default();
            if self.reasons.len() >= KEPT_MAX || of_peer >= KEPT_OF_PEER_MAX {
                return;
            }
            self.of_peer.insert(peer, of_peer + 1);
        } else if self.reasons[&key].rejection == rejection {
            return;
        }
        let since = known.unwrap_or(now);
        let reason = Arc::new(WaitReason { rejection, since });
        Arc::make_mut(&mut self.reasons).insert(key, reason);
    }

    /// Forgets the reason of a delivery that is answered.
    pub(crate) fn answered(&mut self, peer: PartyId, transaction: TxId) {
        let key = (peer, transaction);
        if !self.reasons.contains_key(&key) {
            return;
        }
        Arc::make_mut(&mut self.reasons).remove(&key);
        if let Some(of_peer) = self.of_peer.get_mut(&peer) {
            *of_peer -= 1;
            if *of_peer == 0 {
                self.of_peer.remove(&peer);
            }
        }
    }

    /// Returns the number of reasons.
    pub(crate) fn len(&self) -> usize {
        self.reasons.len()
    }

    /// Returns all reasons.
    pub(crate) fn reasons(&self) -> Arc<WaitReasons> {
        Arc::clone(&self.reasons)
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
        for n in 0..10_000 {
            waits.answered(peer(0), transaction(n));
            waits.answered(peer(n), transaction(1));
        }
        assert_eq!((waits.len(), waits.of_peer.len()), (0, 0));
    }

    #[test]
    fn the_last_reason_and_the_first_time_count() {
        let mut waits = DeliveryWaits::default();
        for (code, at) in [("tx.too_large", 1), ("tx.notary_unknown", 2)] {
            let reason = Rejection::new(code, "no", "");
            waits.note(peer(1), transaction(1), reason, Timestamp::from_ms(at));
        }
        let reasons = waits.reasons();
        assert_eq!(reasons.len(), 1);
        let reason = &reasons[&(peer(1), transaction(1))];
        assert_eq!(reason.rejection.code, "tx.notary_unknown");
        assert_eq!(reason.since, Timestamp::from_ms(1));
    }
}
