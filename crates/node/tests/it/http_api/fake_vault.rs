//! The vault of the fake node.

use std::time::Instant;

use api::{Balance, Balances, Quarantined, StatesPage, VaultAnswer, VaultChange, VaultQuery};
use ledger::TxId;
use node::http::{Pending, Refusal, SeenChange, VaultChanges, VaultService};
use tokio::sync::watch;

/// A vault whose view stands at a position that the test sets.
pub struct FakeVault {
    seq: watch::Sender<u64>,
}

impl FakeVault {
    pub fn new() -> Self {
        Self {
            seq: watch::Sender::new(42),
        }
    }

    /// Moves the view to a position.
    pub fn reach(&self, seq: u64) {
        self.seq.send_replace(seq);
    }
}

impl VaultService for FakeVault {
    fn balances(&self, deadline: Instant) -> Pending<'_, Balances> {
        Box::pin(async move {
            if deadline <= Instant::now() {
                return Err(Refusal::listed(
                    &api::codes::VIEW_BEHIND,
                    "the view is at 41, asked for 42",
                ));
            }
            let balance = Balance {
                token: "00".into(),
                symbol: "GBP".into(),
                issuer: "O=A, L=B, C=GB".into(),
                quantity: "340282366920938463463374607431768211455".into(),
                states: 3,
                quarantined: None,
            };
            Ok(Balances {
                view_seq: 42,
                balances: vec![balance],
            })
        })
    }

    fn states(
        &self,
        after: Option<u64>,
        limit: usize,
        _: Quarantined,
        _: Instant,
    ) -> Pending<'_, StatesPage> {
        let next = after.map(|after| after + limit as u64);
        Box::pin(async move {
            Ok(StatesPage {
                view_seq: 42,
                states: Vec::new(),
                next,
            })
        })
    }

    fn vault_query(&self, _: VaultQuery, _: Instant) -> Pending<'_, VaultAnswer> {
        Box::pin(async move { Ok(VaultAnswer::default()) })
    }

    fn vault_end(&self) -> u64 {
        *self.seq.borrow()
    }

    fn vault_seq(&self) -> watch::Receiver<u64> {
        self.seq.subscribe()
    }

    /// Every second position changes the vault.
    fn vault_changes(&self, after: u64, upto: u64, limit: usize) -> Pending<'_, VaultChanges> {
        let last = upto.min(after + limit as u64);
        let changes = (after + 1..=last).filter(|seq| seq % 2 == 0);
        let changes = changes.map(|seq| SeenChange {
            change: VaultChange {
                seq,
                transaction: TxId::from_array([7; 32]).to_string(),
                recorded_at_ms: 1,
                consumed: vec![format!("{}(0)", TxId::from_array([seq as u8; 32]))],
                produced: Vec::new(),
            },
            // Every fourth position is of another contract than the others.
            consumed_contracts: vec![if seq % 4 == 0 { "x.a" } else { "y" }.into()],
        });
        let changes = changes.collect();
        Box::pin(async move {
            Ok(VaultChanges {
                changes,
                upto: last,
            })
        })
    }
}
