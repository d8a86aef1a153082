//! Waiters for the answers of all participants of a transaction. In memory only: a restart forgets them.

use std::collections::BTreeSet;

use ledger::{PartyId, Rejection, TxId};
use primitives::collections::HashMap;

use super::delivery_action::DeliveryAction;

/// The waiters, by transaction and by token.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    by_transaction: HashMap<TxId, Waiter>,
    tokens: HashMap<u64, TxId>,
}

#[derive(Debug, Default)]
struct Waiter {
    tokens: Vec<u64>,
    missing: BTreeSet<PartyId>,
    refused: Vec<(PartyId, Rejection)>,
}

impl Waiters {
    pub(super) fn wait(
        &mut self,
        transaction: TxId,
        participants: &[PartyId],
        token: u64,
        out: &mut Vec<DeliveryAction>,
    ) {
        if participants.is_empty() && !self.by_transaction.contains_key(&transaction) {
            let refused = Vec::new();
            out.push(DeliveryAction::AllAnswered {
                token,
                transaction,
                refused,
            });
            return;
        }
        let waiter = self.by_transaction.entry(transaction).or_default();
        waiter.missing.extend(participants);
        waiter.tokens.push(token);
        self.tokens.insert(token, transaction);
    }

    pub(super) fn forget(&mut self, token: u64) {
        let Some(transaction) = self.tokens.remove(&token) else {
            return;
        };
        if let Some(waiter) = self.by_transaction.get_mut(&transaction) {
            waiter.tokens.retain(|t| *t != token);
            if waiter.tokens.is_empty() {
                self.by_transaction.remove(&transaction);
            }
        }
    }

    /// Notes that a participant has answered.
    pub(super) fn tell(
        &mut self,
        peer: PartyId,
        transaction: &TxId,
        rejection: Option<Rejection>,
        out: &mut Vec<DeliveryAction>,
    ) {
        let Some(waiter) = self.by_transaction.get_mut(transaction) else {
            return;
        };
        waiter.missing.remove(&peer);
        waiter
            .refused
            .extend(rejection.map(|rejection| (peer, rejection)));
        if !waiter.missing.is_empty() {
            return;
        }
        let Some(waiter) = self.by_transaction.remove(transaction) else {
            return;
        };
        for token in waiter.tokens {
            self.tokens.remove(&token);
            let (transaction, refused) = (*transaction, waiter.refused.clone());
            out.push(DeliveryAction::AllAnswered {
                token,
                transaction,
                refused,
            });
        }
    }
}
