//! The network's constants, the node's state, its peers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::QuantityText;

/// The constants of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Constants {
    /// The network's name, for people.
    pub network: String,
    /// The hash of the genesis, which every id and signature covers.
    pub genesis: String,
    /// The time 0 of the chain.
    pub genesis_time_ms: u64,
    /// The parameters of consensus: limits, fees and times. Fees and numbers of tokens are decimal text. The fields of `Params` in `crates/chain/src/params.rs` explain them.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// The parent chain, then its children.
    pub chains: Vec<ChainInfo>,
    /// Maximum number of transactions in a batch.
    pub submit_batch_max: u32,
    /// The node's software and version.
    pub software: String,
}

/// One chain and its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainInfo {
    /// Its number; the parent chain's is 1.
    pub id: u8,
    /// Its name.
    pub name: String,
    /// Its token.
    pub symbol: String,
    /// Digits after the decimal point. An amount of 1 is the smallest unit.
    pub decimals: u8,
}

/// The progress of a node's synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncState {
    /// It has all blocks of its peers.
    Synced,
    /// It is fetching blocks from its peers.
    Syncing,
    /// A better branch forks deeper than the node may follow. It continues on its own branch, and an operator has to
    /// decide.
    Stuck,
}

/// The status of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainStatus {
    /// The hash of the genesis.
    pub genesis: String,
    /// The time 0 of the chain.
    pub genesis_time_ms: u64,
    /// The target time between blocks.
    pub block_seconds: u32,
    /// Blocks after genesis.
    pub height: u32,
    /// The last block's hash.
    pub tip: String,
    /// The time at which the last block was forged, in seconds since genesis.
    pub tip_time: u32,
    /// The work of all blocks, a decimal number.
    #[schemars(with = "QuantityText")]
    pub cumulative_difficulty: String,
    /// The base target after the last block: the higher it is, the sooner hits come.
    #[serde(with = "QuantityText")]
    pub base_target: u64,
    /// Seconds since genesis, by this node's clock.
    pub now: u32,
    /// Unconfirmed transactions in the pool.
    pub pool_count: u64,
    /// Their bytes.
    pub pool_bytes: u64,
    /// Connected peers.
    pub peers: u32,
    /// Accounts that forge on this node.
    pub forging: u32,
    /// Bundlers on this node.
    pub bundlers: u32,
    /// The progress of its synchronisation.
    pub sync: SyncState,
    /// The height that a peer has reported, while the node fetches blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_target: Option<u32>,
    /// The first block whose body is kept; those below are pruned.
    pub first_body: u32,
    /// Branches that have replaced a part of the main chain since the node was started.
    pub forks: u64,
    /// Blocks rolled back for the deepest of them.
    pub fork_depth_max: u32,
    /// Transactions in blocks added in the last minute, per second.
    pub transactions_per_second: f64,
    /// Bytes of the store on disk.
    pub store_bytes: u64,
    /// Whether this node signs for passphrases (test networks).
    pub server_signing: bool,
    /// The node's software and version.
    pub software: String,
    /// Its name, for people.
    pub name: String,
    /// The time at which it was started.
    pub started_at_ms: u64,
}

/// The health of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainHealth {
    /// Whether it answers.
    pub live: bool,
    /// Whether it takes transactions: its store works and it follows the chain.
    pub ready: bool,
    /// Blocks after genesis.
    pub height: u32,
    /// The progress of its synchronisation.
    pub sync: SyncState,
    /// A code, if the store refuses writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How far the machine's clock jumped from the time that the chain goes by, in milliseconds, while the jump is not followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_jump_ms: Option<i64>,
    /// Forgers' second blocks on one parent of which this node keeps evidence.
    #[serde(default)]
    pub equivocations: u64,
}

/// One peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainPeer {
    /// Its key.
    pub id: String,
    /// Its address, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its software and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// Whether it is connected.
    pub connected: bool,
    /// Which side opened the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Penalty points. They decrease with time, and 100 lead to a ban.
    pub points: u32,
    /// The remaining time of its ban.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banned_for_ms: Option<u64>,
    /// The reason for its last penalty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its recent round-trip time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ms: Option<f64>,
}

/// The peers of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainPeers {
    /// This node's own key.
    pub me: String,
    /// The address on which it listens for peers.
    pub listen: String,
    /// The peers it has met, connected or not.
    pub peers: Vec<ChainPeer>,
}

/// The body of a ban.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBan {
    /// The duration of the ban, at most a year.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub seconds: u32,
    /// The reason, for people.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub reason: String,
}
