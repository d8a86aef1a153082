//! The results specific to a load on a chain: blocks, forks, the time to a block, the audit's figures.

use serde::{Deserialize, Serialize};

use super::block_totals::BlockTotals;
use super::fault::Fault;
use super::samples::Histogram;
use super::store_sizes::StoreSizes;

/// One stretch on a chain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainResult {
    /// Payments a second in blocks of the main chain while the load was on: the least over the nodes. Orphaned blocks do not count.
    pub payments_per_s: f64,
    /// Payments that were accepted, including the warm-up.
    pub accepted: u64,
    /// Accepted payments that are in a block of the main chain of every node. Like `left`, it is an estimate if the audit looked up a
    /// sample.
    pub in_blocks: u64,
    /// Accepted payments that left the pool without a block, by reason. Those of the measurement are also faults of the stretch.
    pub left: Vec<Fault>,
    /// Time from a payment's due time until the node it was sent to first showed its block of the main chain.
    pub to_block: Histogram,
    /// The target time between blocks, seconds; 0 if unknown.
    pub block_seconds: f64,
    /// The mean time between blocks of the main chain, seconds.
    pub block_seconds_mean: f64,
    /// Blocks of the main chain that the load's time saw.
    pub blocks: u64,
    /// Their transactions, of all chains.
    pub transactions: u64,
    /// The nodes.
    pub nodes: Vec<ChainNode>,
    /// The number of blocks in a range of `ranges`.
    pub range_blocks: u64,
    /// Rates by range of blocks.
    pub ranges: Vec<BlockRange>,
    /// The range of transaction counts that a row of `fill` spans.
    pub fill_step: u64,
    /// Blocks by how many transactions they have.
    pub fill: Vec<FillRow>,
    /// Blocks by hundreds of transactions: every row up to the fullest block's, those without blocks included. Empty in
    /// results of older programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hundreds: Vec<FillRow>,
    /// The content of all these blocks; none in results of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<BlockTotals>,
    /// The fullest blocks: of the parent chain, of each child chain, of all child chains together.
    pub fullest: Vec<Fullest>,
    /// Files of the nodes over time.
    pub disk: Vec<DiskLook>,
    /// The size of the first node's database after the load, if it ran on this machine for this run alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<StoreSizes>,
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainNode {
    /// Its name.
    pub name: String,
    /// Payments a second in blocks of its main chain while the load was on.
    pub payments_per_s: f64,
    /// Its height at the end.
    pub height: u64,
    /// Its tip at the end.
    pub tip: String,
    /// A hash of its state then, if it has one.
    pub state_hash: Option<String>,
    /// Blocks rolled back while the load was on, for each branch that lost: how deep, in order of time.
    pub forks: Vec<u32>,
}

/// A range of consecutive blocks.
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
    /// Transactions a second in it; 0 if no time passed.
    pub per_s: f64,
    /// Transactions a second from the first range to this one.
    pub cumulative_per_s: f64,
    /// The time of the block before its first, seconds since the chain's beginning; none in results of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<u64>,
    /// The time of its last block, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_s: Option<u64>,
    /// The content of its blocks; none in results of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<BlockTotals>,
}

/// Blocks with a similar number of transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillRow {
    /// The lowest number of transactions.
    pub from: u64,
    /// The highest number of transactions.
    pub to: u64,
    /// The number of blocks.
    pub blocks: u64,
}

/// The fullest blocks by one count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fullest {
    /// The counted transactions: `parent`, a child chain's name, or `all child chains`.
    pub of: String,
    /// Heights and transactions, the fullest first.
    pub blocks: Vec<(u64, u64)>,
}

/// A reading of the size of a node's files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskLook {
    /// The node.
    pub node: String,
    /// The time, milliseconds since the scenario began.
    pub at_ms: u64,
    /// Transactions in its blocks by then.
    pub transactions: u64,
    /// The size of its files.
    pub bytes: u64,
}

impl ChainResult {
    /// Returns the depth of the deepest fork that any node saw; 0 without forks.
    #[must_use]
    pub fn fork_depth_max(&self) -> u32 {
        let depths = self.nodes.iter().flat_map(|node| &node.forks);
        depths.copied().max().unwrap_or(0)
    }

    /// Returns the growth of the first node's files per transaction, bytes; `None` without readings or without growth.
    #[must_use]
    pub fn bytes_per_transaction(&self) -> Option<f64> {
        let name = &self.disk.first()?.node;
        let looks = || self.disk.iter().filter(|look| look.node == *name);
        let (first, last) = (looks().next()?, looks().next_back()?);
        let transactions = last.transactions.checked_sub(first.transactions)?;
        let bytes = last.bytes.checked_sub(first.bytes)?;
        (transactions > 0 && bytes > 0).then(|| bytes as f64 / transactions as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_older_programs_are_read_and_written_as_they_were() {
        let mut old = serde_json::to_value(ChainResult {
            ranges: vec![BlockRange::default()],
            ..ChainResult::default()
        })
        .expect("JSON");
        for field in ["hundreds", "totals", "sizes"] {
            assert!(old.get(field).is_none(), "{field} is left out");
        }
        old["blocks"] = 7.into();
        let read: ChainResult = serde_json::from_value(old.clone()).expect("the former fields");
        assert_eq!(
            (read.blocks, read.totals, read.ranges[0].start_s),
            (7, None, None)
        );
        assert_eq!(serde_json::to_value(read).expect("JSON"), old);
    }
}
