//! The rate at which followers of the vault are sent events.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The bytes of events that all followers together may be sent in a second. Following costs a share of the node that does
/// not grow with the followers: under load they fall behind, lose nothing, and catch up.
#[derive(Debug)]
pub(super) struct Allowance {
    bytes_per_s: u64,
    /// The time at which the bytes granted so far will have been used up.
    used_up_at: Mutex<Instant>,
}

impl Allowance {
    pub(super) fn new(bytes_per_s: u64) -> Self {
        Self {
            bytes_per_s: bytes_per_s.max(1),
            used_up_at: Mutex::new(Instant::now()),
        }
    }

    /// Grants some bytes, first come first served; says from when on they may be sent.
    pub(super) fn grant(&self, bytes: usize, now: Instant) -> Instant {
        // Bytes in memory: the product is far below 64 bits.
        let micros = bytes as u64 * 1_000_000 / self.bytes_per_s;
        let mut used_up_at = self
            .used_up_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let from = (*used_up_at).max(now);
        *used_up_at = from + Duration::from_micros(micros);
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_followers_share_one_allowance() {
        let allowance = Allowance::new(1_000);
        let start = Instant::now() + Duration::from_secs(1);
        let ms = |ms| start + Duration::from_millis(ms);
        // Bytes asked for, when, and from when on they may be sent.
        for (bytes, asked, granted) in [
            (100, 0, 0),
            (50, 0, 100),
            (500, 120, 150),
            (10, 2_000, 2_000),
            (10, 2_000, 2_010),
        ] {
            assert_eq!(allowance.grant(bytes, ms(asked)), ms(granted), "{bytes}");
        }
    }
}
