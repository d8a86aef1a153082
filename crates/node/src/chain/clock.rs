//! The time of a chain: milliseconds since its genesis, never stepping back while the node runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// See the module.
#[derive(Debug)]
pub(super) struct ChainClock {
    genesis_ms: u64,
    last_ms: AtomicU64,
}

impl ChainClock {
    pub(super) fn new(genesis_ms: u64) -> Self {
        Self {
            genesis_ms,
            last_ms: AtomicU64::new(0),
        }
    }

    /// Milliseconds since genesis; 0 before it.
    pub(super) fn now_ms(&self) -> u64 {
        let ms = unix_ms().saturating_sub(self.genesis_ms);
        self.last_ms.fetch_max(ms, Ordering::Relaxed).max(ms)
    }

    /// Whole seconds since genesis.
    pub(super) fn now(&self) -> u32 {
        u32::try_from(self.now_ms() / 1_000).unwrap_or(u32::MAX)
    }
}

/// Milliseconds since the Unix epoch.
pub(super) fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
