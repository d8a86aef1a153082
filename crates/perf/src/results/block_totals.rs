//! The content of a number of blocks.

use serde::{Deserialize, Serialize};

/// The content of a number of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockTotals {
    /// Their number.
    pub blocks: u64,
    /// Transactions of the parent chain, child blocks not counted.
    pub parent: u64,
    /// Transactions of child chains.
    pub child: u64,
    /// Child blocks.
    pub child_blocks: u64,
    /// Bytes of their bodies; none if the node does not name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<u64>,
}

impl BlockTotals {
    /// Returns an amount for each block; none without blocks.
    #[must_use]
    pub fn per_block(&self, amount: u64) -> Option<f64> {
        (self.blocks > 0).then(|| amount as f64 / self.blocks as f64)
    }

    /// Returns the transactions of all chains, child blocks not counted.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        self.parent + self.child
    }

    /// Returns the bytes of a body for each transaction; none without transactions, or if the bytes are not known.
    #[must_use]
    pub fn payload_per_transaction(&self) -> Option<f64> {
        let transactions = self.transactions();
        let bytes = self.payload_bytes.filter(|_| transactions > 0)?;
        Some(bytes as f64 / transactions as f64)
    }
}
