//! What a pool holds at most.

use serde::{Deserialize, Serialize};

/// Limits of a pool: a node's own choice, no rule of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PoolSettings {
    /// Transactions at most, child blocks not counted.
    pub transactions_max: usize,
    /// Bytes of transactions at most, encoded, child blocks not counted.
    pub bytes_max: usize,
    /// Transactions of one sender at most, on all chains: so many that a test's single account can keep a network busy, so few
    /// that it leaves room for others.
    pub per_sender_max: usize,
    /// Child blocks of one chain at most.
    pub child_blocks_max: usize,
    /// Child blocks of one bundler on one chain at most.
    pub per_bundler_max: usize,
    /// Ids that all child blocks together carry at most.
    pub carried_max: usize,
    /// How long an accepted transaction waits for a balance that a block, or a rollback, has taken away, seconds.
    pub patience_seconds: u32,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            transactions_max: 100_000,
            bytes_max: 64 << 20,
            per_sender_max: 25_000,
            child_blocks_max: 16,
            per_bundler_max: 2,
            carried_max: 400_000,
            patience_seconds: 120,
        }
    }
}
