//! Orders of operators.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// In words.
    pub done: String,
}

/// Rolls the chain back. Peers that have the blocks bring them again, unless they are banned or gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PopOff {
    /// The height that becomes the tip.
    pub height: u32,
}

/// Lets the bodies of all but the newest blocks go, once; the setting `node.keep_blocks` does it all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// The newest blocks whose bodies stay; never fewer than consensus needs.
    pub keep_blocks: u32,
}

/// Accepts a branch that forks deeper than the node may follow by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// The height of a block of that branch.
    pub height: u32,
    /// Its hash.
    pub hash: String,
}

/// Makes a copy of the store while it runs.
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
    /// The height of the tip that it is of.
    pub height: u32,
    /// The tip.
    pub tip: String,
    /// The hash over all balances, leases and what consensus keeps beside them.
    pub state_hash: String,
}
