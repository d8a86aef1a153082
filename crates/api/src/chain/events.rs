//! Server-sent events of the chain. They start with the present; use the other paths for the past.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The chain's state at the start of the stream; the data is a [`super::ChainStatus`].
pub const STATUS: &str = "status";
/// A block was added at the end of the main chain; the data is a [`BlockAdded`].
pub const ADDED: &str = "added";
/// The last block was rolled back; the data is a [`BlockPopped`].
pub const POPPED: &str = "popped";
/// A branch has replaced a part of the main chain; the data is a [`Forked`].
pub const FORKED: &str = "forked";
/// A transaction left the pool without a block; the data is a [`TransactionLeft`].
pub const LEFT: &str = "left";
/// A better branch lies beyond the rollback limit; the data is a [`Stuck`].
pub const STUCK: &str = "stuck";
/// The events end early; the data is a [`crate::Problem`] with the reason.
pub const CUT: &str = crate::events::CUT;

/// A block was added at the end of the main chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockAdded {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: String,
    /// The time at which it was forged, in seconds since genesis.
    pub time: u32,
    /// The account that forged it.
    pub forger: String,
    /// Whether it was forged here.
    pub own: bool,
    /// Parent transactions, including child blocks.
    pub parent_count: u32,
    /// Transactions that child blocks carry.
    pub child_count: u32,
    /// Bytes of the body.
    pub body_bytes: u32,
}

/// The last block was rolled back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockPopped {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: String,
}

/// A branch has replaced a part of the main chain: blocks were rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forked {
    /// The height of the last common block.
    pub common: u32,
    /// The number of blocks rolled back.
    pub depth: u32,
}

/// A transaction left the pool without a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionLeft {
    /// Its full id.
    pub id: String,
    /// The reason: a code.
    pub reason: String,
}

/// A better branch forks off beyond the rollback limit. The node continues on its own branch, and an operator has to
/// decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stuck {
    /// The height of the last common block, as far as it is known.
    pub common: u32,
    /// The tip of the other branch.
    pub other: String,
}
