//! Swaps: cash against stock for several pairs at once, in one transaction that a coordinator proposes.
//!
//! A party says in advance what it lets a coordinator settle for it: a *mandate*, a state of its own ledger that nobody else sees. It stands
//! until it is taken back or ends, for any number of swaps; without one a node gives nothing.

mod contract;
mod errors;
mod goods;
mod mandate;

pub(crate) mod builder;

pub use contract::{MANDATE_NAME, MandateContract, mandate_code, mandate_name};
pub use errors::SwapError;
pub(crate) use goods::Goods;
pub use mandate::{Mandate, MandateCommand, Market, Side};
