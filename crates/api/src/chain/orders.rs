//! Orders of operators.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// A description of the result.
    pub done: String,
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
