//! The result of a check.

use serde::Serialize;

/// Counts of a history, and the rules that it breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Requests.
    pub asked: u64,
    /// Requests that were answered with a signature.
    pub signed: u64,
    /// Requests that were refused for a conflict.
    pub conflicts: u64,
    /// Requests that were refused for another reason.
    pub refused: u64,
    /// Requests that were given up.
    pub unanswered: u64,
    /// Different transactions in all requests.
    pub transactions: u64,
    /// Different transactions that were signed.
    pub signed_transactions: u64,
    /// Longest time without an answer while a majority was alive and a request waited, in milliseconds, rounded up.
    pub longest_silence_ms: u64,
    /// The violations: first those of single answers in the order of the history, then those found at its end.
    pub violations: Vec<Violation>,
}

impl Verdict {
    /// Returns whether the history breaks no rule.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns whether the history breaks a rule of this kind.
    #[must_use]
    pub fn has(&self, kind: ViolationKind) -> bool {
        self.violations.iter().any(|one| one.kind == kind)
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The rule.
    pub kind: ViolationKind,
    /// The transactions, states, requests and times, for people.
    pub message: String,
}

/// The rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// Two signed transactions consume the same state.
    DoubleSpend,
    /// A signed transaction was asked for again in the end phase, and not signed.
    SignatureLost,
    /// A transaction that was signed, or whose outcome is unknown, was not asked for in the end phase.
    NotAskedAgain,
    /// A refusal for a conflict names no state.
    ConflictWithoutState,
    /// A refusal names a state that the refused transaction does not consume, or does not read if it is named as a reference.
    ForeignState,
    /// A refusal names the refused transaction itself as the consumer.
    SelfConflict,
    /// A refusal names a consumer that no client had asked for.
    UnknownConsumer,
    /// A refusal names a consumer that does not consume the state.
    WrongConsumer,
    /// A refusal names a consumer that is not signed in the end phase.
    ConsumerNotSigned,
    /// Two refusals name different consumers of the same state.
    ConsumersDiffer,
    /// A transaction was signed and refused.
    SignedAndRefused,
    /// A transaction was refused for a reason that no client gave.
    UnexpectedRefusal,
    /// The service answered nothing for too long, although a majority was alive.
    Silence,
    /// A transaction was signed for the first time without a majority.
    SignedWithoutMajority,
}
