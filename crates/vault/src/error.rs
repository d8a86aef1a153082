//! Why a selection fails.

use ledger::{StateRef, TokenId};
use primitives::{Coded, ErrorInfo};
use thiserror::Error;

/// A state of this node that a notary reports as consumed elsewhere.
pub const QUARANTINED: ErrorInfo = ErrorInfo {
    code: "vault.quarantined",
    cause: "The notary says that a state of this node is consumed, by a transaction this node does not know. The state is in quarantine: no sum counts it and no flow selects or locks it.",
    action: "List the states with tally vault states --quarantined only, and find out who else holds their owners' keys. A state leaves quarantine when the transaction that consumed it is recorded here.",
};

/// The codes of this crate.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "vault.insufficient_funds",
        cause: "The vault holds less of the token than was asked for, locked states included and states in quarantine left out.",
        action: "Ask for less, name the issuer whose token is held, or wait until more has been received. The balances (tally vault balances, GET /v1/balances) name the issuers.",
    },
    ErrorInfo {
        code: "vault.selection_timeout",
        cause: "Enough of the token is held, but other flows kept it locked until the deadline.",
        action: "Try again, allow more time, or split large states so that flows need not share them.",
    },
    ErrorInfo {
        code: "vault.too_fragmented",
        cause: "The quantity can only be reached with more states than one selection may take.",
        action: "Pay smaller amounts first, or merge small states by paying them to yourself.",
    },
    ErrorInfo {
        code: "vault.selection_busy",
        cause: "As many selections as allowed wait for states already.",
        action: "Try again when some of the waiting flows have ended.",
    },
    ErrorInfo {
        code: "vault.state_consumed",
        cause: "A state that a flow wants to lock is consumed, or a recorded transaction is about to consume it.",
        action: "Look for the state that took its place, and start again with that one.",
    },
    ErrorInfo {
        code: "vault.state_locked",
        cause: "Another flow holds a state that this flow wants to lock.",
        action: "Try again when the other flow has ended; GET /v1/flows and 'tally flow list' list the live ones.",
    },
    QUARANTINED,
    ErrorInfo {
        code: "vault.too_many_locks",
        cause: "A flow wants to lock more states at once than one selection may take.",
        action: "Lock fewer states at once.",
    },
];

/// Reasons why a selection fails. Nothing is locked then.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectionError {
    /// There is not so much, locked states included.
    #[error("{wanted} of token {token} are wanted and {available} are held")]
    InsufficientFunds {
        /// The token.
        token: TokenId,
        /// Requested amount.
        wanted: u64,
        /// Available amount, in states of one notary.
        available: u128,
    },
    /// Others kept the states locked for too long.
    #[error("{wanted} of token {token} did not become free within {waited_ms} ms")]
    SelectionTimeout {
        /// The token.
        token: TokenId,
        /// Requested amount.
        wanted: u64,
        /// Time that the flow was ready to wait.
        waited_ms: u64,
    },
    /// Too many states would be needed.
    #[error("{wanted} of token {token} need more than {states_max} states")]
    TooFragmented {
        /// The token.
        token: TokenId,
        /// Requested amount.
        wanted: u64,
        /// Maximum number of states of one selection.
        states_max: usize,
    },
    /// A state that is to be locked is consumed, or about to be.
    #[error("the state {state} is consumed")]
    StateConsumed {
        /// The state.
        state: StateRef,
    },
    /// A notary reports a state that is to be locked as consumed elsewhere.
    #[error("the state {state} is in quarantine: its notary reports it as consumed elsewhere")]
    StateQuarantined {
        /// The state.
        state: StateRef,
    },
    /// Another flow holds a state that is to be locked.
    #[error("the state {state} is locked by another flow")]
    StateLocked {
        /// The state.
        state: StateRef,
    },
    /// Too many states to be locked at once.
    #[error("{wanted} states are to be locked at once, at most {states_max} can be")]
    TooManyLocks {
        /// How many.
        wanted: usize,
        /// How many are allowed.
        states_max: usize,
    },
    /// Too many selections wait.
    #[error("{waiting} selections wait already")]
    Busy {
        /// How many.
        waiting: usize,
    },
}

impl Coded for SelectionError {
    fn code(&self) -> &'static str {
        match self {
            SelectionError::InsufficientFunds { .. } => "vault.insufficient_funds",
            SelectionError::SelectionTimeout { .. } => "vault.selection_timeout",
            SelectionError::TooFragmented { .. } => "vault.too_fragmented",
            SelectionError::StateConsumed { .. } => "vault.state_consumed",
            SelectionError::StateQuarantined { .. } => QUARANTINED.code,
            SelectionError::StateLocked { .. } => "vault.state_locked",
            SelectionError::TooManyLocks { .. } => "vault.too_many_locks",
            SelectionError::Busy { .. } => "vault.selection_busy",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}
