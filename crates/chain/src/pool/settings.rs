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
    /// How long an accepted transaction waits for a balance that a block, or a rollback, has taken away, seconds; nothing for twenty
    /// block times, two minutes at least.
    pub patience_seconds: Option<u32>,
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
            patience_seconds: None,
        }
    }
}

/// The patience that is chosen where none is set, at least, seconds.
const PATIENCE_SECONDS_MIN: u32 = 120;

/// The patience that is chosen where none is set, in block times.
const PATIENCE_BLOCKS: u32 = 20;

impl PoolSettings {
    /// The same for a network with this time between blocks, seconds.
    #[must_use]
    pub fn for_blocks_of(mut self, block_seconds: u32) -> Self {
        let chosen = block_seconds.saturating_mul(PATIENCE_BLOCKS);
        self.patience_seconds
            .get_or_insert(chosen.max(PATIENCE_SECONDS_MIN));
        self
    }

    /// How long a parked transaction waits, seconds.
    #[must_use]
    pub fn patience_seconds(&self) -> u32 {
        self.patience_seconds.unwrap_or(PATIENCE_SECONDS_MIN)
    }
}
