//! The rules for the end phase: nothing that was signed is lost.

use crate::book::Book;
use crate::verdict::{Violation, ViolationKind};

/// Checks that every signed transaction is signed again in the end phase, and that every unknown outcome was asked for again.
pub(crate) fn end(book: &Book) -> Vec<Violation> {
    let mut violations = Vec::new();
    for transaction in book.transactions() {
        let id = transaction.id;
        let before = match transaction.signed {
            Some(_) if transaction.is_signed_again => continue,
            Some(signed) => format!("was signed by {signed}"),
            None if transaction.is_answered => continue,
            None => "has no known outcome".to_owned(),
        };
        match (&transaction.asked_again, transaction.signed) {
            (None, _) => violations.push(Violation {
                kind: ViolationKind::NotAskedAgain,
                message: format!(
                    "transaction {id} {before} and was not asked for in the end phase"
                ),
            }),
            (Some((asked, outcome)), Some(_)) => violations.push(Violation {
                kind: ViolationKind::SignatureLost,
                message: format!(
                    "transaction {id} {before}, and in the end phase {outcome} by {asked}"
                ),
            }),
            // It was asked for again, so the client has done its part. The outcome may stay unknown.
            (Some(_), None) => {}
        }
    }
    violations
}
