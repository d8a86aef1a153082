//! Consecutive timeouts of a peer.

use crate::core::limits::{PATIENCE_MS, TIMEOUTS_MAX};

/// The consecutive timeouts of one peer.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::core) struct TimeoutStreak {
    count: u32,
    /// The time of the first timeout.
    since_ms: u64,
    /// Unanswered questions before this time count as the same timeout.
    counted_until_ms: u64,
}

impl TimeoutStreak {
    /// Counts an unanswered question. Returns true if the peer has not answered for too long although another peer answered at
    /// `last_answer_ms`.
    pub(super) fn count(&mut self, now_ms: u64, last_answer_ms: u64) -> bool {
        if now_ms < self.counted_until_ms {
            return false;
        }
        if self.count == 0 {
            self.since_ms = now_ms;
        }
        self.count += 1;
        self.counted_until_ms = now_ms + PATIENCE_MS;
        self.count >= TIMEOUTS_MAX && last_answer_ms > self.since_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silences_in_a_row_count_once_each_patience() {
        let mut timeouts = TimeoutStreak::default();
        let answered = u64::MAX;
        for n in 1..TIMEOUTS_MAX {
            let at = u64::from(n) * PATIENCE_MS;
            assert!(!timeouts.count(at, answered), "{n}");
            assert!(
                !timeouts.count(at + 1, answered),
                "of the same moment as {n}"
            );
        }
        let last = u64::from(TIMEOUTS_MAX) * PATIENCE_MS;
        let mut alone = timeouts;
        assert!(!alone.count(last, PATIENCE_MS), "no other peer answered");
        assert!(timeouts.count(last, PATIENCE_MS + 1));
    }
}
