//! Bundlers, which carry child transactions into blocks for a fee.
//!
//! A bundler looks at the pool shortly before the predicted next block ([`plan`]), and the bundlers of one chain take turns
//! ([`rank`]). It makes a child block unless an equally good one is already waiting ([`propose`]). The whole network therefore
//! usually makes exactly one child block per chain and block. Bundlers announce their rates as [`SignedRates`], and each node
//! keeps a [`RateBook`].

mod bundler;
mod bundler_rate;
mod plan;
mod propose;
mod rate_book;
mod rates;
mod record;
mod rules;
mod settings;
#[cfg(test)]
mod tests;

pub use bundler::Bundler;
pub use bundler_rate::BundlerRate;
pub use plan::{Expected, plan, rank};
pub use propose::{Means, Proposal, Scene, Skipped, propose};
pub use rate_book::{BUNDLERS_MAX, RATES_AGE_MAX, RATES_INTERVAL, RateBook};
pub use rates::{RATES_BYTES, SignedRates};
pub use record::{BundleRecord, PROVEN_BLOCKS};
pub use rules::BundlerRules;
pub use settings::BundleSettings;
