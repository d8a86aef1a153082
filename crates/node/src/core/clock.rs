//! The node's clock: milliseconds since the epoch, never stepping back while the node runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use primitives::Timestamp;

/// See the module.
#[derive(Default)]
pub struct Clock {
    last_ms: AtomicU64,
}

impl Clock {
    /// The time.
    pub fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let last = self.last_ms.fetch_max(ms, Ordering::Relaxed);
        Timestamp::from_ms(ms.max(last))
    }
}
