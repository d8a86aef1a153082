//! An account that bundles on this node.

use primitives::KeyPair;

use super::BundlerRules;

/// An account that bundles one child chain's transactions on this node.
#[derive(Clone, Debug)]
pub struct Bundler {
    /// The key of the account that pays the parent fee and earns the child fees.
    pub key: KeyPair,
    /// The rules for the transactions that it carries, and their fees.
    pub rules: BundlerRules,
}
