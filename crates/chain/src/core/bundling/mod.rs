//! Bundlers of this node, and the rates of all known bundlers.

mod announce_rates;
mod bundle;
mod bundlers;
mod rates;
mod spent_fees;
mod usable_rates;

pub(super) use bundlers::Bundling;
pub(super) use rates::Rates;
pub use rates::UsableRate;
