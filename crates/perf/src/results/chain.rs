//! What a load on a chain gave, beside what every load gives: blocks, forks, the time to a block, the audit's figures.

use serde::{Deserialize, Serialize};

use super::model::Fault;
use super::samples::Histogram;

/// One stretch on a chain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainResult {
    /// Payments a second in blocks of the main chain while the load was on: the least over the nodes. Orphaned blocks do not count.
    pub payments_per_s: f64,
    /// Payments that were accepted.
    pub accepted: u64,
    /// Of these, those that stand in a block of the main chain of every node.
    pub in_blocks: u64,
    /// Of these, those that left the pool without a block, by reason.
    pub left: Vec<Fault>,
    /// From when a payment was due until the node it was sent to first showed the block of the main chain that has it.
    pub to_block: Histogram,
    /// The aim of the time between blocks, seconds; 0 if nobody knows.
    pub block_seconds: f64,
    /// The mean time between blocks of the main chain, seconds.
    pub block_seconds_mean: f64,
    /// Blocks of the main chain that the load's time saw.
    pub blocks: u64,
    /// Their transactions, of all chains.
    pub transactions: u64,
    /// The nodes.
    pub nodes: Vec<ChainNode>,
    /// How many blocks a range of `ranges` has.
    pub range_blocks: u64,
    /// Rates by range of blocks.
    pub ranges: Vec<BlockRange>,
    /// How many transactions a row of `fill` spans.
    pub fill_step: u64,
    /// Blocks by how many transactions they have.
    pub fill: Vec<FillRow>,
    /// The fullest blocks: of the parent chain, of each child chain, of all child chains together.
    pub fullest: Vec<Fullest>,
    /// Files of the nodes over time.
    pub disk: Vec<DiskLook>,
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainNode {
    /// What it is called.
    pub name: String,
    /// Payments a second in blocks of its main chain while the load was on.
    pub payments_per_s: f64,
    /// Its height in the end.
    pub height: u64,
    /// Its tip in the end.
    pub tip: String,
    /// A hash of its state then, if it has one.
    pub state_hash: Option<String>,
    /// Blocks taken back while the load was on, for each branch that lost: how deep, in order of time.
    pub forks: Vec<u32>,
}

/// Some blocks in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockRange {
    /// The height of its first.
    pub from: u64,
    /// The height of its last.
    pub to: u64,
    /// Transactions of all chains in them.
    pub transactions: u64,
    /// Seconds from the block before its first to its last.
    pub seconds: f64,
    /// Transactions a second in it; 0 where no time passed.
    pub per_s: f64,
    /// Transactions a second from the first range to this one.
    pub cumulative_per_s: f64,
}

/// Blocks with about as many transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillRow {
    /// So many transactions at least.
    pub from: u64,
    /// And so many at most.
    pub to: u64,
    /// How many blocks.
    pub blocks: u64,
}

/// The fullest blocks by one measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fullest {
    /// Of what: `parent`, a child chain's name, `all child chains`.
    pub of: String,
    /// Heights and transactions, the fullest first.
    pub blocks: Vec<(u64, u64)>,
}

/// A look at the files of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskLook {
    /// Whose.
    pub node: String,
    /// When, milliseconds since the scenario began.
    pub at_ms: u64,
    /// Transactions in its blocks by then.
    pub transactions: u64,
    /// What its files hold.
    pub bytes: u64,
}

impl ChainResult {
    /// The deepest fork that any node saw.
    #[must_use]
    pub fn fork_depth_max(&self) -> u32 {
        let depths = self.nodes.iter().flat_map(|node| &node.forks);
        depths.copied().max().unwrap_or(0)
    }

    /// Growth of the first node's files for each transaction, bytes; `None` where nobody looked, or nothing grew.
    #[must_use]
    pub fn bytes_per_transaction(&self) -> Option<f64> {
        let name = &self.disk.first()?.node;
        let looks = || self.disk.iter().filter(|look| look.node == *name);
        let (first, last) = (looks().next()?, looks().next_back()?);
        let transactions = last.transactions.checked_sub(first.transactions)?;
        let bytes = last.bytes.saturating_sub(first.bytes);
        (transactions > 0 && bytes > 0).then(|| bytes as f64 / transactions as f64)
    }
}
