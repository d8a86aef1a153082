//! Readings of two clocks: one measures durations, the other gives the time of day.
//!
//! A wall clock can be set: it jumps forward and back. A monotonic clock never does, but its readings mean nothing to
//! another process. Deadlines and pauses are monotonic; time windows and timestamps are of the wall clock. The two are
//! different types, so that neither can stand in for the other.

use crate::Timestamp;

/// Milliseconds since an arbitrary start, on a clock that never steps. Meaningful within one process only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Monotonic(u64);

impl Monotonic {
    /// The start of the clock.
    pub const START: Self = Self(0);

    /// The last reading there is.
    pub const MAX: Self = Self(u64::MAX);

    /// Makes a reading from milliseconds since the start.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Returns the milliseconds since the start.
    #[must_use]
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Returns the time `ms` milliseconds later, or `None` if it does not fit 64 bits.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Option<Self> {
        self.0.checked_add(ms).map(Self)
    }

    /// Returns the time `ms` milliseconds later. A sum beyond the last reading is clipped to it: neither of the two ever comes.
    #[must_use]
    pub fn after_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Returns the time `ms` milliseconds earlier, or `None` if it is before the start.
    #[must_use]
    pub fn minus_ms(self, ms: u64) -> Option<Self> {
        self.0.checked_sub(ms).map(Self)
    }

    /// Returns the milliseconds from `earlier` to this reading, or `None` if `earlier` is later.
    #[must_use]
    pub fn since_ms(self, earlier: Self) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }

    /// Returns the milliseconds that have passed since a reading. A later reading than this one, as another thread may have taken it,
    /// has no past: 0.
    #[must_use]
    pub fn passed_ms(self, since: Self) -> u64 {
        self.0.saturating_sub(since.0)
    }
}

/// A reading of both clocks at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Moment {
    /// The clock that never steps.
    pub monotonic: Monotonic,
    /// The time of day, as the machine believes it.
    pub wall: Timestamp,
}

impl Moment {
    /// Makes a moment from both readings.
    #[must_use]
    pub const fn new(monotonic: Monotonic, wall: Timestamp) -> Self {
        Self { monotonic, wall }
    }

    /// Returns the monotonic time at which the wall clock will show `wall`, if it runs evenly until then. Returns the present
    /// monotonic time if that time has passed.
    #[must_use]
    pub fn when(self, wall: Timestamp) -> Monotonic {
        // The last reading stands for never, on both clocks.
        if wall == Timestamp::MAX {
            return Monotonic::MAX;
        }
        // A time in the past leaves nothing to wait for.
        let left_ms = wall.since_ms(self.wall).unwrap_or(0);
        self.monotonic.after_ms(left_ms)
    }

    /// Returns the time of day minus the monotonic reading, in milliseconds. It is constant while the wall clock runs evenly.
    #[must_use]
    pub fn offset_ms(self) -> i128 {
        i128::from(self.wall.as_ms()) - i128::from(self.monotonic.as_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(monotonic: u64, wall: u64) -> Moment {
        Moment::new(Monotonic::from_ms(monotonic), Timestamp::from_ms(wall))
    }

    #[test]
    fn a_wall_time_is_reached_as_much_later() {
        let now = moment(100, 5_000);
        assert_eq!(now.when(Timestamp::from_ms(5_250)), Monotonic::from_ms(350));
        assert_eq!(now.when(Timestamp::from_ms(4_999)), now.monotonic);
        assert_eq!(now.when(Timestamp::MAX), Monotonic::MAX);
    }

    #[test]
    fn readings_are_clipped_where_the_clock_ends() {
        let at = Monotonic::from_ms(5);
        assert_eq!(at.after_ms(2), Monotonic::from_ms(7));
        assert_eq!(at.after_ms(u64::MAX), Monotonic::MAX);
        assert_eq!(at.passed_ms(Monotonic::from_ms(2)), 3);
        assert_eq!(at.passed_ms(Monotonic::from_ms(6)), 0);
    }

    #[test]
    fn the_offset_changes_with_a_jump_only() {
        assert_eq!(moment(0, 5_000).offset_ms(), 5_000);
        assert_eq!(moment(700, 5_700).offset_ms(), 5_000);
        assert_eq!(moment(700, 100).offset_ms(), -600);
    }
}
