//! Blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::transactions::TransactionView;

/// A block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockView {
    /// Blocks before it.
    pub height: u32,
    /// Its hash.
    pub hash: String,
    /// The block before.
    pub previous: String,
    /// When it was forged, in seconds since genesis.
    pub time: u32,
    /// The same as milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// Who forged it.
    pub forger: String,
    /// The forger's key.
    pub forger_key: String,
    /// The generation signature.
    pub generation: String,
    /// The base target after it.
    pub base_target: u64,
    /// The work of all blocks up to it, a decimal number.
    pub cumulative_difficulty: String,
    /// Parent transactions, child blocks among them.
    pub parent_count: u32,
    /// Transactions that child blocks carry.
    pub child_count: u32,
    /// Bytes of the body.
    pub body_bytes: u32,
    /// Blocks after it.
    pub confirmations: u32,
    /// Fees of its parent transactions, child blocks included, in the parent token: the forger's.
    pub fees: u64,
    /// How many transactions its child blocks carry, by chain.
    pub children: Vec<ChildCount>,
    /// The ids of its transactions by chain, child blocks apart; where they were asked for and the body is not pruned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_ids: Option<Vec<ChainIds>>,
    /// Its child blocks; left out where the body is pruned or was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_blocks: Option<Vec<ChildBlockView>>,
    /// Its transactions of all chains, in their order; left out where the body is pruned or was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<Vec<TransactionView>>,
}

/// How many transactions of a child chain a block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildCount {
    /// The child chain.
    pub chain: u8,
    /// How many.
    pub count: u32,
}

/// Ids of a block's transactions of one chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainIds {
    /// The chain.
    pub chain: u8,
    /// The full ids, ascending.
    pub ids: Vec<String>,
}

/// How much of each block's body comes with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyDetail {
    /// Nothing.
    #[default]
    None,
    /// The ids.
    Ids,
    /// The transactions.
    Full,
}

impl BodyDetail {
    /// As it is written in a query.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ids => "ids",
            Self::Full => "full",
        }
    }
}

/// A child block within a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildBlockView {
    /// Its id as a parent transaction.
    pub id: String,
    /// The child chain.
    pub chain: u8,
    /// Transactions that it carries.
    pub count: u32,
    /// Who bundled them.
    pub bundler: String,
    /// What the bundler pays the forger, in the parent token.
    pub fee: u64,
}

/// Blocks, the newest first, or from a height upwards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockPage {
    /// The blocks.
    pub blocks: Vec<BlockView>,
    /// Give it as `before` (newest first) or `from` (upwards) for the next page; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}
