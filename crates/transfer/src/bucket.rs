//! A rate limit in bytes per second.

use crate::time::later;

/// A token bucket. It holds at most the bytes of a quarter of a second, or one chunk if that is more.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    per_s: u64,
    burst: u64,
    /// The available bytes, in thousandths of a byte, so that rounding does not slow down low rates.
    tokens: u128,
    at_ms: u64,
}

impl Bucket {
    /// Makes a full bucket; a rate of 0 is unlimited.
    pub(crate) fn new(per_s: u64, chunk: u64) -> Self {
        let burst = (per_s / 4).max(chunk);
        Self {
            per_s,
            burst,
            tokens: u128::from(burst) * 1_000,
            at_ms: 0,
        }
    }

    /// Takes `bytes` bytes, at most one chunk, if they are available. Returns whether they were.
    pub(crate) fn take(&mut self, now_ms: u64, bytes: u64) -> bool {
        if self.per_s == 0 {
            return true;
        }
        // Clipped at 0: a time earlier than the last one adds no tokens.
        let passed = now_ms.saturating_sub(self.at_ms);
        self.at_ms = self.at_ms.max(now_ms);
        let full = u128::from(self.burst) * 1_000;
        let gained = u128::from(passed) * u128::from(self.per_s);
        self.tokens = full.min(self.tokens + gained);
        let cost = u128::from(bytes) * 1_000;
        if self.tokens < cost {
            return false;
        }
        self.tokens -= cost;
        true
    }

    /// Returns the time at which `bytes` bytes will be available.
    pub(crate) fn ready_at(&self, bytes: u64) -> u64 {
        // Clipped at 0: enough tokens are there already.
        let missing = (u128::from(bytes) * 1_000).saturating_sub(self.tokens);
        let wait = missing.div_ceil(u128::from(self.per_s.max(1)));
        // A wait longer than can be counted has no end.
        later(self.at_ms, u64::try_from(wait).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_its_rate_and_no_more() {
        let mut bucket = Bucket::new(1_000, 100);
        assert!(bucket.take(0, 100) && bucket.take(0, 100));
        assert!(
            !bucket.take(0, 100),
            "a quarter of a second's worth is gone"
        );
        assert_eq!(bucket.ready_at(100), 50);
        assert!(!bucket.take(49, 100));
        assert!(bucket.take(50, 100));
        let mut taken = 0;
        for ms in 50..10_050 {
            while bucket.take(ms, 100) {
                taken += 100;
            }
        }
        assert!((9_900..=10_100).contains(&taken), "{taken}");
    }

    #[test]
    fn without_a_rate_there_is_no_bound() {
        let mut bucket = Bucket::new(0, 1);
        assert!((0..1_000).all(|_| bucket.take(0, u64::MAX)));
    }
}
