//! Forging and bundling.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{OptionalQuantityInput, OptionalQuantityText, QuantityInput, QuantityText, SecretText};

/// An account that forges on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgingAccount {
    /// The account.
    pub account: String,
    /// Its key.
    pub key: String,
    /// Whole parent tokens that count for the next block.
    #[serde(with = "QuantityText")]
    pub effective_tokens: u64,
    /// The time at which it may forge the next block, in seconds since genesis; left out if it may not forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_time: Option<u32>,
}

/// The forgers of this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgingView {
    /// The height of the next block.
    pub height: u32,
    /// Seconds since genesis, by this node's clock.
    pub now: u32,
    /// The delay between a hit and the forging on this node.
    pub forging_delay_ms: u64,
    /// The accounts, ordered by their hits, the next one first.
    pub accounts: Vec<ForgingAccount>,
}

/// Starts forging with an account on this node. The secret stays in the node's memory and is lost when the node stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartForging {
    /// The seed of its key, 32 bytes as hexadecimal text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<SecretText>,
    /// Its passphrase instead of the seed (test networks).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    pub passphrase: Option<SecretText>,
}

/// An account expected to forge soon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgerView {
    /// The account.
    pub account: String,
    /// The time at which it may forge the next block, in seconds since genesis.
    pub hit_time: u32,
    /// Whole parent tokens that count for the next block.
    #[serde(with = "QuantityText")]
    pub effective_tokens: u64,
    /// Whether it forges on this node.
    pub here: bool,
}

/// The candidates for the next block: accounts that forged lately, and those of this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgersView {
    /// The height of the next block.
    pub height: u32,
    /// Seconds since genesis, by this node's clock.
    pub now: u32,
    /// The candidates, ordered by their hits, the next one first.
    pub forgers: Vec<ForgerView>,
}

/// A bundler's rules. It carries a transaction that satisfies all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartBundler {
    /// The child chain.
    pub chain: u8,
    /// The seed of its key, 32 bytes as hexadecimal text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<SecretText>,
    /// Its passphrase instead of the seed (test networks).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    pub passphrase: Option<SecretText>,
    /// The minimum child fee, in minor units, for each whole parent token that a transaction costs the bundler.
    #[serde(with = "QuantityInput")]
    pub rate_min: u64,
    /// The surcharge on the minimum parent fee, in per cent.
    #[serde(default)]
    pub overpay_percent: u32,
    /// The total parent fees after which it stops; unlimited if left out.
    #[serde(
        default,
        with = "OptionalQuantityInput",
        skip_serializing_if = "Option::is_none"
    )]
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
    /// The paying account.
    pub account: String,
    /// The child chain.
    pub chain: u8,
    /// See [`StartBundler`].
    #[serde(with = "QuantityText")]
    pub rate_min: u64,
    /// See [`StartBundler`].
    pub overpay_percent: u32,
    /// See [`StartBundler`].
    #[serde(
        default,
        with = "OptionalQuantityText",
        skip_serializing_if = "Option::is_none"
    )]
    pub total_fee_max: Option<u64>,
}

/// The bundlers of this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BundlerList {
    /// The bundlers.
    pub bundlers: Vec<BundlerView>,
}

/// A signed offer of a bundler anywhere in the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateView {
    /// The bundler.
    pub account: String,
    /// The child chain.
    pub chain: u8,
    /// The minimum child fee, in minor units, for each whole parent token that a transaction costs the bundler.
    #[serde(with = "QuantityText")]
    pub rate: u64,
    /// The time of the offer, in seconds since genesis.
    pub time: u32,
    /// Whether it has bundled at this rate in the last 60 blocks.
    #[serde(default)]
    pub proven: bool,
    /// Whether default fees rely on it: it is proven, or the bundler has enough stake to forge.
    #[serde(default)]
    pub usable: bool,
}

/// The offers of bundlers, the lowest of each chain first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RatesView {
    /// The offers, by chain, then by rate.
    pub rates: Vec<RateView>,
}
