//! Timeouts of a peer in a row.

use crate::core::limits::{PATIENCE_MS, SILENCES_MAX};

/// The silences of one peer in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::core) struct Silence {
    count: u32,
    /// The time of the first silence.
    since_ms: u64,
    /// Unanswered questions before this time belong to the same silence.
    counted_until_ms: u64,
}

impl Silence {
    /// Counts an unanswered question. Returns true if the peer has been silent for too long although another peer was heard at
    /// `heard_ms`.
    pub(super) fn count(&mut self, now_ms: u64, heard_ms: u64) -> bool {
        if now_ms < self.counted_until_ms {
            return false;
        }
        if self.count == 0 {
            self.since_ms = now_ms;
        }
        self.count += 1;
        self.counted_until_ms = now_ms + PATIENCE_MS;
        self.count >= SILENCES_MAX && heard_ms > self.since_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silences_in_a_row_count_once_each_patience() {
        let mut silence = Silence::default();
        let heard = u64::MAX;
        for n in 1..SILENCES_MAX {
            let at = u64::from(n) * PATIENCE_MS;
            assert!(!silence.count(at, heard), "{n}");
            assert!(!silence.count(at + 1, heard), "of the same moment as {n}");
        }
        let last = u64::from(SILENCES_MAX) * PATIENCE_MS;
        let mut alone = silence;
        assert!(!alone.count(last, PATIENCE_MS), "no other peer was heard");
        assert!(silence.count(last, PATIENCE_MS + 1));
    }
}
