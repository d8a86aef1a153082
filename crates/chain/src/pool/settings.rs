//! Limits of a pool.

use serde::{Deserialize, Serialize};

use crate::Seconds;

/// Limits of a pool. They are a node's own choice and not rules of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PoolSettings {
    /// Maximum number of transactions, without child blocks.
    pub transactions_max: usize,
    /// Maximum total length of encoded transactions in bytes, without child blocks.
    pub bytes_max: usize,
    /// Maximum number of transactions of one sender on all chains. It is high enough for a test's single account to keep a
    /// network busy, and low enough to leave room for others.
    pub per_sender_max: usize,
    /// Maximum number of child blocks of one chain.
    pub child_blocks_max: usize,
    /// Maximum number of child blocks of one bundler on one chain.
    pub per_bundler_max: usize,
    /// Maximum number of ids that all child blocks together carry.
    pub carried_max: usize,
    /// Time that an accepted transaction waits for a balance that a block or a rollback has taken away. The default is
    /// twenty block times, at least two minutes.
    pub patience_seconds: Option<Seconds>,
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

/// Minimum default patience.
const PATIENCE_MIN: Seconds = Seconds::new(120);

/// Default patience, in block times.
const PATIENCE_BLOCKS: u32 = 20;

impl PoolSettings {
    /// Sets the default patience for a network with this block time.
    #[must_use]
    pub fn for_blocks_of(mut self, block_time: Seconds) -> Self {
        let chosen = block_time.times_or_max(PATIENCE_BLOCKS);
        self.patience_seconds
            .get_or_insert(chosen.max(PATIENCE_MIN));
        self
    }

    /// Returns the time that a parked transaction waits.
    #[must_use]
    pub fn patience_seconds(&self) -> Seconds {
        // The default of a network with short blocks.
        self.patience_seconds.unwrap_or(PATIENCE_MIN)
    }
}
