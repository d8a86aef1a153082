//! Blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::transactions::TransactionView;
use crate::QuantityText;

/// A block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockView {
    /// The number of blocks before it.
    pub height: u32,
    /// Its hash.
    pub hash: String,
    /// The hash of the block before.
    pub previous: String,
    /// The time at which it was forged, in seconds since genesis.
    pub time: u32,
    /// The same time in milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// The account that forged it.
    pub forger: String,
    /// The forger's key.
    pub forger_key: String,
    /// The generation signature.
    pub generation: String,
    /// The base target after it.
    #[serde(with = "QuantityText")]
    pub base_target: u64,
    /// The work of all blocks up to it, a decimal number.
    pub cumulative_difficulty: String,
    /// Parent transactions, including child blocks.
    pub parent_count: u32,
    /// Transactions that child blocks carry.
    pub child_count: u32,
    /// Bytes of the body.
    pub body_bytes: u32,
    /// Blocks after it.
    pub confirmations: u32,
    /// Fees of its parent transactions, including child blocks, in the parent token. The forger gets them.
    #[serde(with = "QuantityText")]
    pub fees: u64,
    /// The number of transactions in its child blocks, by chain.
    pub children: Vec<ChildCount>,
    /// The ids of its transactions by chain, without child blocks. Present if they were asked for and the body is not
    /// pruned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_ids: Option<Vec<ChainIds>>,
    /// Its child blocks; left out if the body is pruned or was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_blocks: Option<Vec<ChildBlockView>>,
    /// Its transactions of all chains, in order; left out if the body is pruned or was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<Vec<TransactionView>>,
}

/// The number of transactions of a child chain in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildCount {
    /// The child chain.
    pub chain: u8,
    /// The number of transactions.
    pub count: u32,
}

/// Ids of a block's transactions of one chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainIds {
    /// The chain.
    pub chain: u8,
    /// The full ids, in ascending order.
    pub ids: Vec<String>,
}

/// The amount of each block's body in the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyDetail {
    /// No body.
    #[default]
    None,
    /// The ids only.
    Ids,
    /// The transactions.
    Full,
}

impl BodyDetail {
    /// Returns the form in a query.
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
    /// Transactions that the child block carries.
    pub count: u32,
    /// The account that bundled the transactions of the block.
    pub bundler: String,
    /// The bundler's fee for the forger, in the parent token.
    #[serde(with = "QuantityText")]
    pub fee: u64,
}

/// A page of blocks, newest first or upwards from a height.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockPage {
    /// The blocks.
    pub blocks: Vec<BlockView>,
    /// Give it as `before` (newest first) or `from` (upwards) for the next page; left out on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}
