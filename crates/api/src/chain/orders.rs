//! Orders of operators.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of an order to roll the chain back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RolledBack {
    /// The number of blocks that were rolled back.
    pub blocks: u32,
    /// The height that became the tip.
    pub height: u32,
}

/// The result of an order to empty the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolCleared {
    /// The number of transactions that left the pool.
    pub transactions: u64,
}

/// The result of an order to delete old bodies. The deletion goes on while the node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PruneBegun {
    /// The number of blocks whose bodies are being deleted; 0 if there is nothing to delete.
    pub blocks: u32,
    /// The height of the last of these blocks, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u32>,
}

/// The result of an order to trust a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trusted {
    /// The height of the trusted block.
    pub height: u32,
    /// Its hash.
    pub hash: String,
    /// The number of blocks that were rolled back because they contradicted it.
    pub rolled_back: u32,
}

/// A copy of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotMade {
    /// Its folder on the node's machine.
    pub path: String,
}

/// Rolls the chain back. Peers that still have the blocks send them again, unless they are banned or gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PopOff {
    /// The height that becomes the tip.
    pub height: u32,
}

/// Deletes the bodies of all but the newest blocks, once. The setting `node.keep_blocks` does it continuously.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// The number of newest blocks that keep their bodies. Consensus sets a minimum.
    pub keep_blocks: u32,
}

/// Accepts a branch that forks deeper than the node may follow without an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// The height of a block of that branch.
    pub height: u32,
    /// Its hash.
    pub hash: String,
}

/// Copies the store while it is in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The name of a folder that does not exist yet, within the node's folder of snapshots.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
}

/// A hash over the whole state: two nodes with the same tip have the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateHash {
    /// The height of that tip.
    pub height: u32,
    /// The hash of that tip.
    pub tip: String,
    /// The hash over all balances, leases and other consensus state.
    pub state_hash: String,
}
