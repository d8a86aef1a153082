//! Swaps: cash against stock for several pairs at once, in one transaction that a coordinator proposes.
//!
//! A party grants a *mandate* in advance: the swaps that a coordinator may settle for it. The mandate is a state of the party's
//! own ledger that no other party sees. It stands for any number of swaps until it is revoked or ends. Without a mandate a node
//! gives nothing.

mod contract;
mod errors;
mod goods;
mod mandate;

pub(crate) mod builder;

pub use contract::{MandateContract, mandate_code, mandate_name};
pub use errors::SwapError;
pub(crate) use goods::Goods;
pub use mandate::{MANDATE_NAME, Mandate, MandateCommand, Market, Side};
