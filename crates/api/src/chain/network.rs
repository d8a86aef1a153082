//! The network's constants, the node's state, its peers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What never changes in a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Constants {
    /// The network's name, for people.
    pub network: String,
    /// The hash of the genesis, which every id and signature covers.
    pub genesis: String,
    /// When time 0 of the chain was.
    pub genesis_time_ms: u64,
    /// The parameters of consensus: limits, fees, times. `docs/reference/chain-parameters.md` says what each means.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// The parent chain, then its children.
    pub chains: Vec<ChainInfo>,
    /// Transactions in a batch at most.
    pub submit_batch_max: u32,
    /// The node's software.
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
    /// Digits after the point: an amount of 1 is the smallest part.
    pub decimals: u8,
}

/// How far a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncState {
    /// It has what its peers have.
    Synced,
    /// It fetches blocks that its peers have.
    Syncing,
    /// A better branch forks deeper than it may follow: it goes on with its own, and an operator has to decide.
    Stuck,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainStatus {
    /// The hash of the genesis.
    pub genesis: String,
    /// When time 0 of the chain was.
    pub genesis_time_ms: u64,
    /// The aim of the time between blocks.
    pub block_seconds: u32,
    /// Blocks after genesis.
    pub height: u32,
    /// The last block's hash.
    pub tip: String,
    /// When the last block was forged, in seconds since genesis.
    pub tip_time: u32,
    /// The work of all blocks, a decimal number.
    pub cumulative_difficulty: String,
    /// How easily hits come: the base target after the last block.
    pub base_target: u64,
    /// Seconds since genesis, by this node's clock.
    pub now: u32,
    /// Transactions in no block yet.
    pub pool_count: u64,
    /// Their bytes.
    pub pool_bytes: u64,
    /// Peers connected.
    pub peers: u32,
    /// Accounts that forge here.
    pub forging: u32,
    /// Bundlers that run here.
    pub bundlers: u32,
    /// How far the node is.
    pub sync: SyncState,
    /// What is missing, when it fetches blocks: the height that a peer has told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_target: Option<u32>,
    /// The first block whose body is kept; those below are pruned.
    pub first_body: u32,
    /// Branches that have won over the main chain since the node was started.
    pub forks: u64,
    /// Blocks taken back for the deepest of them.
    pub fork_depth_max: u32,
    /// Transactions in blocks added in the last minute, each second.
    pub transactions_per_second: f64,
    /// Bytes of the store on disk.
    pub store_bytes: u64,
    /// Whether this node signs for passphrases (test networks).
    pub server_signing: bool,
    /// The node's software.
    pub software: String,
    /// Its name, for people.
    pub name: String,
    /// When it was started.
    pub started_at_ms: u64,
}

/// Whether the node is up and takes work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainHealth {
    /// It answers.
    pub live: bool,
    /// It takes transactions: its store works and it follows the chain.
    pub ready: bool,
    /// Blocks after genesis.
    pub height: u32,
    /// How far it is.
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
    /// Where it is, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// Whether it is connected.
    pub connected: bool,
    /// Who opened the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Points against it; they are forgiven with time, and 100 are a ban.
    pub points: u32,
    /// How much longer it is kept away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banned_for_ms: Option<u64>,
    /// Why it was last found at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it took to answer lately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ms: Option<f64>,
}

/// The peers of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainPeers {
    /// This node's own key.
    pub me: String,
    /// Where it listens for peers.
    pub listen: String,
    /// Those it met, connected or not.
    pub peers: Vec<ChainPeer>,
}

/// The body of a ban.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBan {
    /// For how long, at most a year.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub seconds: u32,
    /// Why, for people.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub reason: String,
}
