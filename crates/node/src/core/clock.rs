//! The node's clocks: the time of day, which can be set, and one that only goes on.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use primitives::{Moment, Monotonic, Timestamp, whole_ms};

/// Both clocks of the machine, read together.
pub struct Clock {
    started: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl Clock {
    /// Both readings. The monotonic one counts from the node's start.
    pub fn now(&self) -> Moment {
        // A clock before 1970 shows the time of the epoch.
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let wall = Timestamp::from_ms(whole_ms(since));
        Moment::new(Monotonic::from_ms(whole_ms(self.started.elapsed())), wall)
    }

    /// The instant of a monotonic reading, unless it is beyond the machine's range.
    pub fn instant(&self, at: Monotonic) -> Option<Instant> {
        self.started.checked_add(Duration::from_millis(at.as_ms()))
    }
}
