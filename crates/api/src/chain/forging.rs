//! Forging and bundling.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An account that forges on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgingAccount {
    /// The account.
    pub account: String,
    /// Its key.
    pub key: String,
    /// Whole parent tokens that count for the next block.
    pub effective_tokens: u64,
    /// When it may forge the next block, in seconds since genesis; left out where it may not forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_time: Option<u32>,
}

/// Who forges on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgingView {
    /// The height that is next.
    pub height: u32,
    /// Seconds since genesis, by this node's clock.
    pub now: u32,
    /// How long this node waits after a hit before it forges.
    pub forging_delay_ms: u64,
    /// The accounts, the next one first.
    pub accounts: Vec<ForgingAccount>,
}

/// Lets an account forge here. The secret stays in the node's memory and is gone when it stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartForging {
    /// The seed of its key, 32 bytes as hexadecimal text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// Or its passphrase (test networks).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    pub passphrase: Option<String>,
}

/// Somebody who is to forge soon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgerView {
    /// The account.
    pub account: String,
    /// When it may forge the next block, in seconds since genesis.
    pub hit_time: u32,
    /// Whole parent tokens that count for the next block.
    pub effective_tokens: u64,
    /// Whether it forges on this node.
    pub here: bool,
}

/// Who is to forge the next block: accounts that forged lately, and those of this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgersView {
    /// The height that is next.
    pub height: u32,
    /// Seconds since genesis, by this node's clock.
    pub now: u32,
    /// The next one first.
    pub forgers: Vec<ForgerView>,
}

/// A bundler's rules. A transaction is carried if it satisfies all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartBundler {
    /// The child chain.
    pub chain: u8,
    /// The seed of its key, 32 bytes as hexadecimal text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// Or its passphrase (test networks).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    pub passphrase: Option<String>,
    /// The least child fee, in minor units, for each whole parent token that a transaction costs the bundler.
    pub rate_min: u64,
    /// The parent fee is raised by so many per cent above the least.
    #[serde(default)]
    pub overpay_percent: u32,
    /// Parent fees that it pays in all before it stops; nothing for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_fee_max: Option<u64>,
    /// Only transactions of these senders; empty for all.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub senders: Vec<String>,
    /// Only transactions to these recipients; empty for all.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub recipients: Vec<String>,
    /// Only transactions whose message begins with this text; empty for all.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub purpose: String,
}

/// A bundler that runs on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BundlerView {
    /// The account that pays.
    pub account: String,
    /// The child chain.
    pub chain: u8,
    /// See [`StartBundler`].
    pub rate_min: u64,
    /// See [`StartBundler`].
    pub overpay_percent: u32,
    /// See [`StartBundler`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_fee_max: Option<u64>,
}

/// Who bundles on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BundlerList {
    /// The bundlers.
    pub bundlers: Vec<BundlerView>,
}

/// What a bundler somewhere in the network asks, as it has signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateView {
    /// The bundler.
    pub account: String,
    /// The child chain.
    pub chain: u8,
    /// The least child fee, in minor units, for each whole parent token that a transaction costs the bundler.
    pub rate: u64,
    /// When it said so, in seconds since genesis.
    pub time: u32,
    /// It has bundled at this rate in the last 60 blocks.
    #[serde(default)]
    pub proven: bool,
    /// Default fees rely on it: it is proven, or the bundler has the stake that forging takes.
    #[serde(default)]
    pub usable: bool,
}

/// What bundlers ask, the lowest of each chain first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RatesView {
    /// By chain, then by rate.
    pub rates: Vec<RateView>,
}
