//! The rules for refusals: each names real conflicts.

use std::collections::{HashMap, HashSet};

use crate::book::{Book, Mark, Request, TransactionPlace};
use crate::event::ConflictingState;
use crate::ids::{Digest, StateRef};
use crate::verdict::{Violation, ViolationKind};

/// A consumer that a refusal names. Whether it is signed shows at the end.
#[derive(Debug)]
struct NamedConsumer {
    refused: Mark,
    state: StateRef,
    consumer: TransactionPlace,
}

/// The conflicts that refusals have named.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    named: Vec<NamedConsumer>,
    /// The first consumer that a refusal has named for each state.
    consumers: HashMap<StateRef, (Digest, Mark)>,
}

impl Conflicts {
    /// Checks the states of a refusal. Returns the violations, and whether an input of the transaction is among the states.
    pub(crate) fn refused(
        &mut self,
        book: &Book,
        request: &Request,
        answered: Mark,
        states: &[ConflictingState],
    ) -> (Vec<Violation>, bool) {
        let transaction = book.transaction(request.place);
        let id = transaction.id;
        let mut violations = Vec::new();
        let mut names_input = false;
        if states.is_empty() {
            violations.push(Violation {
                kind: ViolationKind::ConflictWithoutState,
                message: format!(
                    "transaction {id} was refused by {answered} for a conflict without a state"
                ),
            });
        }
        for ConflictingState {
            state,
            consumed_by,
            is_reference,
        } in states
        {
            let (own, role) = match is_reference {
                true => (&transaction.reads, "read"),
                false => (&transaction.consumes, "consume"),
            };
            let mut violate = |kind, reason: String| {
                let message = format!(
                    "transaction {id} was refused by {answered} because of state {state}, {reason}"
                );
                violations.push(Violation { kind, message });
            };
            if !own.contains(state) {
                let reason = format!("which it does not {role}");
                violate(ViolationKind::ForeignState, reason);
                continue;
            }
            names_input |= !is_reference;
            let Some(consumer) = book.named(consumed_by) else {
                let reason =
                    format!("consumed by hash {consumed_by}, which no client had asked for");
                violate(ViolationKind::UnknownConsumer, reason);
                continue;
            };
            if consumer == request.place {
                violate(ViolationKind::SelfConflict, "consumed by itself".into());
                continue;
            }
            let other = book.transaction(consumer);
            if !other.consumes.contains(state) {
                let reason = format!(
                    "consumed by transaction {}, which does not consume it",
                    other.id
                );
                violate(ViolationKind::WrongConsumer, reason);
                continue;
            }
            let (first, before) = *self
                .consumers
                .entry(*state)
                .or_insert((*consumed_by, answered));
            if first != *consumed_by {
                let reason =
                    format!("consumed by hash {consumed_by}, but {before} was told hash {first}");
                violate(ViolationKind::ConsumersDiffer, reason);
            }
            self.named.push(NamedConsumer {
                refused: answered,
                state: *state,
                consumer,
            });
        }
        (violations, names_input)
    }

    /// Checks at the end that every consumer is signed. Reports each consumer once.
    pub(crate) fn end(&self, book: &Book) -> Vec<Violation> {
        let mut reported = HashSet::new();
        let mut violations = Vec::new();
        for one in &self.named {
            let consumer = book.transaction(one.consumer);
            if consumer.is_signed_again || !reported.insert(one.consumer) {
                continue;
            }
            let again = match &consumer.asked_again {
                None => "was not asked for in the end phase".to_owned(),
                Some((asked, outcome)) => format!("was {outcome} in the end phase, by {asked}"),
            };
            violations.push(Violation {
                kind: ViolationKind::ConsumerNotSigned,
                message: format!(
                    "{} was refused because of state {}, consumed by transaction {}, which {again}",
                    one.refused, one.state, consumer.id
                ),
            });
        }
        violations
    }
}
