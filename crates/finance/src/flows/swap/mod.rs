//! The flows of swaps and of the mandates for them.

mod arguments;
mod check;
mod leg;
mod mandate;
mod parts;
mod party;
mod run;
mod states;

pub use arguments::{
    Exchange, ExchangeResult, PAIRS_MAX, Resolve, STATES_MAX, SwapArgs, SwapResult,
};
pub use mandate::{GiveMandate, GiveMandateArgs, RevokeMandate, RevokeMandateArgs};
pub use party::TakesPart;
pub use run::{Swap, SwapVersion1};
