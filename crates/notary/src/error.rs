//! Error codes of this crate. The codes of a notary's answers are defined by the ledger (`ledger::NotaryError`).

use primitives::{Coded, ErrorInfo};
use thiserror::Error;

/// The codes of this crate.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "notary.transaction_wanted",
        cause: "A validating notary was sent a tear-off.",
        action: "Send the whole transaction: look at the notary's kind in the network map.",
    },
    ErrorInfo {
        code: "notary.notary_missing",
        cause: "A transaction that names no notary was sent to one.",
        action: "Record it without notarising: it consumes nothing and has no time window.",
    },
    ErrorInfo {
        code: "notary.tear_off_wanted",
        cause: "A notary that does not validate was sent a whole transaction; it kept nothing of it.",
        action: "Send a tear-off: look at the notary's kind in the network map, and never show more than it needs.",
    },
];

/// Reasons to reject a request before it is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AdmissionError {
    /// A validating notary was sent a tear-off.
    #[error("this notary validates: it wants the whole transaction")]
    TransactionWanted,
    /// A notary that does not validate was sent a whole transaction.
    #[error("this notary does not validate: it must not see more than a tear-off")]
    TearOffWanted,
    /// The transaction names no notary.
    #[error("the transaction names no notary")]
    NotaryMissing,
}

impl Coded for AdmissionError {
    fn code(&self) -> &'static str {
        match self {
            AdmissionError::TransactionWanted => "notary.transaction_wanted",
            AdmissionError::TearOffWanted => "notary.tear_off_wanted",
            AdmissionError::NotaryMissing => "notary.notary_missing",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}
