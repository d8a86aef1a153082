//! Bundlers: who carries child transactions into blocks, for what fee.
//!
//! A bundler looks at the pool shortly before the predicted next block ([`plan`]), bundlers of one chain one after the other
//! ([`rank`]), and makes a child block unless one that is as good waits already ([`propose`]): so usually exactly one is made for each
//! chain and block in the whole network. What it asks for it says in [`SignedRates`]; each node keeps a [`RateBook`].

mod plan;
mod propose;
mod rate_book;
mod rates;
mod record;
mod rules;
mod settings;
#[cfg(test)]
mod tests;

pub use plan::{Expected, plan, rank};
pub use propose::{Means, Proposal, Scene, Skipped, fee_for, propose};
pub use rate_book::{BUNDLERS_MAX, RATES_AGE_SECONDS, RATES_EVERY_SECONDS, RateBook};
pub use rates::{RATES_BYTES, SignedRates};
pub use record::{BundleRecord, PROVEN_BLOCKS};
pub use rules::BundlerRules;
pub use settings::BundleSettings;

use primitives::KeyPair;

/// An account that bundles one child chain's transactions on this node.
#[derive(Clone, Debug)]
pub struct Bundler {
    /// Pays the parent fee, and earns the child fees.
    pub key: KeyPair,
    /// What it carries, and for how much.
    pub rules: BundlerRules,
}
