//! Results and requests of a selection.

use ledger::{StateAndRef, StateRef, TokenId};

use crate::{CoinPosition, SelectionError};

/// A flow's id, as its bytes: the vault knows no flows.
pub type FlowKey = [u8; 16];

/// An action that the caller carries out for the selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectionOutput {
    /// These states are locked for the flow until it is released or they are spent.
    Selected {
        /// The requesting flow.
        flow: FlowKey,
        /// Number of the request.
        number: u32,
        /// States worth at least the requested amount, all of one notary.
        states: Vec<StateAndRef>,
    },
    /// Nothing is locked.
    Failed {
        /// The requesting flow.
        flow: FlowKey,
        /// Number of the request.
        number: u32,
        /// Cause of the failure.
        error: SelectionError,
    },
    /// The caller asks the view for coins and passes the answer to [`Selection::refilled`](crate::Selection::refilled).
    Refill(RefillRequest),
}

/// Coins wanted from the view: of the unconsumed coins of `token` whose position is `from` or less, the `limit` greatest, in
/// descending order, together with the sum of all unconsumed coins of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefillRequest {
    /// The token.
    pub token: TokenId,
    /// The greatest wanted position, itself included; `None` starts from the top.
    pub from: Option<CoinPosition>,
    /// How many at most, 2 or more.
    pub limit: usize,
    /// The view answers once it contains this ledger sequence. An older answer is refused, and the refill is requested again.
    pub at_least_seq: u64,
}

/// A state that a flow holds, as listed by [`Selection::locks`](crate::Selection::locks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The state.
    pub state: StateRef,
    /// The flow that holds it.
    pub by: FlowKey,
    /// The ledger sequence of the transaction that made it, if the selection knows it.
    pub seq: Option<u64>,
}

/// Gauges for the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectionFigures {
    /// Tokens with a working set.
    pub tokens: usize,
    /// Free coins in memory.
    pub free: usize,
    /// Their approximate memory in bytes.
    pub free_bytes: usize,
    /// States locked by flows or about to be consumed.
    pub held: usize,
    /// Selections that wait.
    pub waiting: usize,
    /// States in quarantine.
    pub quarantined: usize,
}
