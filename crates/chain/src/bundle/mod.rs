//! Bundlers: who carries child transactions into blocks, for what fee.

use primitives::KeyPair;
use serde::{Deserialize, Serialize};

use crate::{AccountId, ChainId};

/// An account that bundles one child chain's transactions on this node.
#[derive(Clone, Debug)]
pub struct Bundler {
    /// Pays the parent fee, and earns the child fees.
    pub key: KeyPair,
    /// What it carries, and for how much.
    pub rules: BundlerRules,
}

/// A bundler's rules. A transaction is carried if it satisfies all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundlerRules {
    /// The child chain.
    pub child: ChainId,
    /// The least child fee, in minor units of the child's token, for each whole parent token that the transaction costs the bundler.
    pub rate_min: u64,
    /// The parent fee is raised by so many per cent above the least, so that forgers prefer this child block.
    #[serde(default)]
    pub overpay_percent: u32,
    /// Parent fees that it pays in all before it stops; nothing for no limit.
    #[serde(default)]
    pub total_fee_max: Option<u64>,
    /// Only transactions of these senders; empty for all.
    #[serde(default)]
    pub senders: Vec<AccountId>,
    /// Only transactions to these recipients; empty for all.
    #[serde(default)]
    pub recipients: Vec<AccountId>,
    /// Only transactions whose message begins with this text; empty for all.
    #[serde(default)]
    pub purpose: String,
}
