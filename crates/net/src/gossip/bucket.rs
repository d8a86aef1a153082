//! A token bucket: a rate limit with bursts of up to ten seconds' worth.

use std::time::{Duration, Instant};

/// Seconds of the rate that a full bucket holds.
pub(super) const BURST_SECONDS: u64 = 10;

/// A token bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    per_second: u64,
    tokens: u64,
    filled: Instant,
}

impl Bucket {
    pub(super) fn new(per_second: u32, now: Instant) -> Self {
        let per_second = u64::from(per_second);
        Self {
            per_second,
            tokens: per_second * BURST_SECONDS,
            filled: now,
        }
    }

    /// Takes tokens if there are enough. Returns whether there were.
    pub(super) fn take(&mut self, tokens: u64, now: Instant) -> bool {
        self.fill(now);
        let enough = self.tokens >= tokens;
        if enough {
            self.tokens -= tokens;
        }
        enough
    }

    fn fill(&mut self, now: Instant) {
        let full = self.per_second * BURST_SECONDS;
        // Clipped at 0: a time before the last one adds no tokens.
        let passed = now.saturating_duration_since(self.filled);
        let passed = passed.min(Duration::from_secs(BURST_SECONDS)).as_micros() as u64;
        // Ten seconds at a rate of 32 bits.
        let more = passed * self.per_second / 1_000_000;
        // If no whole token is gained, the time is not updated, so that short waits add up.
        if more > 0 {
            self.tokens = full.min(self.tokens + more);
            self.filled = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_the_rate_and_never_more_than_full() {
        let start = Instant::now();
        let mut bucket = Bucket::new(100, start);
        let at = |ms| start + Duration::from_millis(ms);
        for (ms, tokens, taken) in [
            (0, 1_000, true),
            (0, 1, false),
            (5, 1, false),
            (10, 1, true),
            (10, 1, false),
            (1_010, 100, true),
            (1_010, 1, false),
            (3_600_000, 1_001, false),
            (3_600_000, 1_000, true),
            (0, 1, false),
        ] {
            assert_eq!(bucket.take(tokens, at(ms)), taken, "{ms} {tokens}");
        }
    }
}
