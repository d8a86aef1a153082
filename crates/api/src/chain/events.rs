//! Server-sent events of the chain. They begin now: what came before is asked for at its own path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the chain stands at first; the data is a [`super::ChainStatus`].
pub const STATUS: &str = "status";
/// A block joined the main chain at its end; the data is a [`BlockAdded`].
pub const ADDED: &str = "added";
/// The last block was taken back; the data is a [`BlockPopped`].
pub const POPPED: &str = "popped";
/// A branch has won; the data is a [`Forked`].
pub const FORKED: &str = "forked";
/// A transaction left the pool without being in a block; the data is a [`TransactionLeft`].
pub const LEFT: &str = "left";
/// A better branch lies beyond the rollback limit; the data is a [`Stuck`].
pub const STUCK: &str = "stuck";
/// The events end early; the data is a [`crate::Problem`] that says why.
pub const CUT: &str = crate::events::CUT;

/// A block joined the main chain at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockAdded {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: String,
    /// When it was forged, in seconds since genesis.
    pub time: u32,
    /// Who forged it.
    pub forger: String,
    /// Whether it was forged here.
    pub own: bool,
    /// Parent transactions, child blocks among them.
    pub parent_count: u32,
    /// Transactions that child blocks carry.
    pub child_count: u32,
    /// Bytes of the body.
    pub body_bytes: u32,
}

/// The last block was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockPopped {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: String,
}

/// A branch has won: so many blocks were taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forked {
    /// The height of the last block that both have.
    pub common: u32,
    /// Blocks taken back.
    pub depth: u32,
}

/// A transaction left the pool without being in a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionLeft {
    /// Its full id.
    pub id: String,
    /// Why: a code.
    pub reason: String,
}

/// A better branch forks off beyond the rollback limit: the node goes on with its own, and an operator has to decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stuck {
    /// The height of the last block that both have, as far as is known.
    pub common: u32,
    /// The tip of the other branch.
    pub other: String,
}
