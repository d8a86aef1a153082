//! The rules for signatures: one consumer of a state, no signed transaction is refused, none is signed without a majority.

use std::collections::HashMap;

use crate::book::{Book, Mark, Request, Transaction, TransactionPlace, seconds};
use crate::ids::{Digest, StateRef};
use crate::verdict::{Violation, ViolationKind};

/// Grace period after the loss of the majority, in microseconds. Requests may still be signed, as the test needs some time to stop the servers.
pub const MINORITY_GRACE_US: u64 = 1_000_000;

/// Codes of refusals that are no violation. A time window is part of the transaction, so its client has caused the refusal.
pub const ALLOWED_REFUSALS: &[&str] = &["notary.time_window_invalid"];

/// The consumers of states by signed transactions.
#[derive(Debug, Default)]
pub(crate) struct Spending {
    consumers: HashMap<StateRef, TransactionPlace>,
}

impl Spending {
    /// Checks a signature. `lost_us` is the time at which the majority was lost, if no server of it may be back.
    pub(crate) fn signed(
        &mut self,
        book: &mut Book,
        request: &Request,
        answered: Mark,
        lost_us: Option<u64>,
    ) -> Vec<Violation> {
        let mut violations = Vec::new();
        let place = request.place;
        if book.transaction(place).signed.is_some() {
            return violations;
        }
        book.transaction_mut(place).signed = Some(answered);
        let Transaction {
            id,
            consumes,
            refused,
            ..
        } = book.transaction(place);
        for state in consumes {
            let first = *self.consumers.entry(*state).or_insert(place);
            let other = book.transaction(first);
            if first != place
                && let Some(before) = other.signed
            {
                violations.push(Violation {
                    kind: ViolationKind::DoubleSpend,
                    message: format!(
                        "state {state} is consumed by transaction {}, signed by {before}, and by transaction {id}, signed by {answered}",
                        other.id
                    ),
                });
            }
        }
        if let Some(refused) = refused {
            violations.push(contradiction(id, &answered, refused));
        }
        let is_late =
            |lost_us: &u64| request.asked.at_us >= lost_us.saturating_add(MINORITY_GRACE_US);
        if let Some(lost_us) = lost_us.filter(is_late) {
            violations.push(Violation {
                kind: ViolationKind::SignedWithoutMajority,
                message: format!(
                    "transaction {id} was signed by {answered}, asked at {}, although the majority was lost at {}",
                    seconds(request.asked.at_us),
                    seconds(lost_us)
                ),
            });
        }
        violations
    }

    /// Checks a refusal for a conflict. `names_input` tells whether it names a state that the transaction consumes.
    ///
    /// A refusal that names an input excludes a signature at any time. One that names only states that are read excludes a signature
    /// before the request: two workers that are asked at the same moment may decide differently.
    pub(crate) fn conflict(
        &self,
        book: &mut Book,
        request: &Request,
        answered: Mark,
        names_input: bool,
    ) -> Option<Violation> {
        let transaction = book.transaction_mut(request.place);
        if names_input {
            transaction.refused.get_or_insert(answered);
        }
        let signed = transaction.signed?;
        let excludes = names_input || signed.line < request.asked.line;
        excludes.then(|| contradiction(&transaction.id, &signed, &answered))
    }

    /// Checks a refusal for another reason.
    pub(crate) fn refused(
        &self,
        book: &Book,
        request: &Request,
        answered: Mark,
        (code, message): (&str, &str),
    ) -> Option<Violation> {
        let Transaction { id, signed, .. } = book.transaction(request.place);
        if !ALLOWED_REFUSALS.contains(&code) {
            return Some(Violation {
                kind: ViolationKind::UnexpectedRefusal,
                message: format!(
                    "transaction {id} was refused by {answered} with {code}: {message}"
                ),
            });
        }
        let signed = signed.filter(|signed| signed.line < request.asked.line)?;
        Some(contradiction(id, &signed, &answered))
    }
}

fn contradiction(id: &Digest, signed: &Mark, refused: &Mark) -> Violation {
    Violation {
        kind: ViolationKind::SignedAndRefused,
        message: format!("transaction {id} was signed by {signed} and refused by {refused}"),
    }
}
