//! Many deliveries at once: more than a window, more than the tail in memory, the rest read back from the store.

use std::collections::{BTreeMap, VecDeque};

use flow::messaging::{Deliveries, DeliveryAction, DeliveryOptions, PendingDelivery};
use ledger::{PartyId, TxId};
use primitives::Monotonic;

fn id(number: u64) -> TxId {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    TxId::from_array(bytes)
}

/// Pushes `total` deliveries of `bytes` each, `per_round` a round, answered `answers` a round; all have to be answered.
fn check(bytes: usize, total: u64, per_round: u64, answers: usize) {
    let peer = PartyId::from_array([1; 32]);
    let mut deliveries = Deliveries::new(DeliveryOptions::default());
    deliveries.peer_up(peer);
    let mut rows = BTreeMap::new();
    let (mut sent, mut refills) = (VecDeque::new(), VecDeque::new());
    let (mut pushed, mut answered, mut idle) = (0, 0, 0);
    for round in 1u64.. {
        let mut out = Vec::new();
        while let Some((after, limit)) = refills.pop_front() {
            let found = rows.range(after + 1..).take(limit);
            let found = found.map(|(seq, transaction)| PendingDelivery {
                seq: *seq,
                transaction: *transaction,
                bytes,
            });
            deliveries.refilled(peer, found.collect(), false);
        }
        for _ in 0..per_round.min(total - pushed) {
            pushed += 1;
            deliveries.push(peer, id(pushed), bytes, &mut out);
        }
        let ids: Vec<TxId> = sent.drain(..sent.len().min(answers)).collect();
        answered += ids.len() as u64;
        deliveries.delivered(peer, &ids, &mut out);
        deliveries.end_of_round(Monotonic::from_ms(round), &mut out);
        idle = if out.is_empty() { idle + 1 } else { 0 };
        for action in out {
            match action {
                DeliveryAction::Store {
                    seq, transaction, ..
                } => drop(rows.insert(seq, transaction)),
                DeliveryAction::Delete { seq, .. } => drop(rows.remove(&seq)),
                DeliveryAction::Send { transactions, .. } => sent.extend(transactions),
                DeliveryAction::Refill { after, limit, .. } => refills.push_back((after, limit)),
                DeliveryAction::AllAnswered { .. } | DeliveryAction::Refused { .. } => {}
            }
        }
        if answered == total {
            assert!(rows.is_empty());
            return;
        }
        assert!(
            idle < 10,
            "{answered} of {total} answered, {} in flight, then nothing more",
            deliveries.in_flight(&peer)
        );
    }
}

#[test]
fn everything_is_answered_in_the_end() {
    for (bytes, total, per_round, answers) in [
        (40_000, 900, 900, 1_000),
        (40_000, 900, 900, 7),
        (40_000, 3_000, 50, 50),
        (44_000, 700, 1, 300),
        (100, 5_000, 5_000, 999),
        (9_000_000, 20, 20, 1),
    ] {
        check(bytes, total, per_round, answers);
    }
}
