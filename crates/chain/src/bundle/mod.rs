//! Bundlers: who carries child transactions into blocks, for what fee.

mod propose;
mod rules;
mod settings;
#[cfg(test)]
mod tests;

pub use propose::{Means, Proposal, Scene, Skipped, propose};
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
