//! Obligations: a debt in cash of any of some tokens, due at a time, with a history from its issue to its end.

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
