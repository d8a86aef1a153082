//! Tracks when a peer last made enough progress: single bytes now and then do not count as progress.

use crate::time::later;

/// Number of bytes that counts as progress; a chunk does too if it is smaller. Fewer bytes within the waiting time count as
/// silence.
pub(crate) const PROGRESS_BYTES: u64 = 64 << 10;

/// Progress of a peer or a file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// When enough progress was last made, or when waiting began.
    pub(crate) heard_ms: u64,
    /// Start of the current count, and the bytes counted since.
    since_ms: u64,
    bytes: u64,
}

impl Pace {
    /// Starts to wait now.
    pub(crate) fn begin(&mut self, now: u64) {
        *self = Self {
            heard_ms: now,
            since_ms: now,
            bytes: 0,
        };
    }

    /// Counts received bytes. Returns whether at least `enough` bytes came within `within_ms` milliseconds, which is progress.
    pub(crate) fn gain(&mut self, now: u64, bytes: u64, (enough, within_ms): (u64, u64)) -> bool {
        if now > later(self.since_ms, within_ms) {
            self.since_ms = now;
            self.bytes = 0;
        }
        self.bytes += bytes;
        let is_enough = self.bytes >= enough;
        if is_enough {
            self.begin(now);
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_enough_within_the_time_is_heard() {
        let mut pace = Pace::default();
        pace.begin(5);
        for (now, bytes, is_enough, heard_ms) in [
            (100, 9, false, 5),
            (105, 1, true, 105),
            (150, 9, false, 105),
            // Too late for the nine before.
            (206, 9, false, 105),
            (300, 1, true, 300),
            (9_000, 10, true, 9_000),
        ] {
            assert_eq!(pace.gain(now, bytes, (10, 100)), is_enough, "at {now}");
            assert_eq!(pace.heard_ms, heard_ms, "at {now}");
        }
    }
}
