//! Consecutive timeouts of a peer.

use crate::ChainTime;
use crate::core::limits::{PATIENCE, TIMEOUTS_MAX};

/// The consecutive timeouts of one peer.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::core) struct TimeoutStreak {
    count: u32,
    /// The time of the first timeout.
    since: ChainTime,
    /// Unanswered questions before this time count as the same timeout.
    counted_until: ChainTime,
}

impl TimeoutStreak {
    /// Counts an unanswered question. Returns true if the peer has not answered for too long although another peer answered at
    /// `last_answer`.
    pub(super) fn count(&mut self, now: ChainTime, last_answer: ChainTime) -> bool {
        if now < self.counted_until {
            return false;
        }
        if self.count == 0 {
            self.since = now;
        }
        self.count += 1;
        self.counted_until = now.plus_or_last(PATIENCE);
        self.count >= TIMEOUTS_MAX && last_answer > self.since
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn silences_in_a_row_count_once_each_patience() {
        let mut timeouts = TimeoutStreak::default();
        let answered = ChainTime::LAST;
        let after = |duration: Duration| ChainTime::GENESIS.plus_or_last(duration);
        let more = Duration::from_millis(1);
        for n in 1..TIMEOUTS_MAX {
            assert!(!timeouts.count(after(PATIENCE * n), answered), "{n}");
            assert!(
                !timeouts.count(after(PATIENCE * n + more), answered),
                "of the same moment as {n}"
            );
        }
        let last = after(PATIENCE * TIMEOUTS_MAX);
        let mut alone = timeouts;
        assert!(
            !alone.count(last, after(PATIENCE)),
            "no other peer answered"
        );
        assert!(timeouts.count(last, after(PATIENCE + more)));
    }
}
