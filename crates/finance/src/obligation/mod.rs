//! Obligations: debts in cash of one of several tokens, due at a time, with a history from issue to end.

mod contract;
mod errors;
mod state;

pub mod builder;
pub mod netting;

pub use contract::{OBLIGATION_NAME, ObligationContract, obligation_name};
pub use errors::ObligationError;
pub use state::{
    OBLIGATIONS_MAX, ObligationCommand, ObligationState, SettlementPayment, TOKENS_MAX,
};
