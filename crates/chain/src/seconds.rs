//! Durations in seconds.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A duration in whole seconds: the difference of two [`BlockTimestamp`](crate::BlockTimestamp)s, or a constant of a network such as
/// its block time. Any 32-bit number is allowed. As JSON it is a plain number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seconds(u32);

impl Seconds {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest duration, 136 years. A wait of this length never ends.
    pub const MAX: Self = Self(u32::MAX);

    /// Makes a duration.
    #[must_use]
    pub const fn new(seconds: u32) -> Self {
        Self(seconds)
    }

    /// Returns the number of seconds.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the sum of two durations, at most [`Seconds::MAX`]. A clipped result stands for a wait that never ends.
    #[must_use]
    pub const fn plus_or_max(self, other: Self) -> Self {
        // No wait of a chain is longer.
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the duration a number of times, at most [`Seconds::MAX`]. A clipped result stands for a wait that never ends.
    #[must_use]
    pub const fn times_or_max(self, times: u32) -> Self {
        // No wait of a chain is longer.
        Self(self.0.saturating_mul(times))
    }

    /// Returns the milliseconds.
    #[must_use]
    pub fn as_ms(self) -> u64 {
        u64::from(self.0) * 1_000
    }

    /// Returns the duration as the standard library's type.
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::from_secs(u64::from(self.0))
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_end_with_the_longest_duration() {
        let seconds = Seconds::new;
        assert_eq!(seconds(2).plus_or_max(seconds(3)), seconds(5));
        assert_eq!(seconds(2).plus_or_max(Seconds::MAX), Seconds::MAX);
        assert_eq!(seconds(2).times_or_max(3), seconds(6));
        assert_eq!(Seconds::MAX.times_or_max(2), Seconds::MAX);
        assert_eq!(Seconds::MAX.times_or_max(0), Seconds::ZERO);
    }

    #[test]
    fn milliseconds_and_durations_have_the_same_length() {
        for number in [0, 1, u32::MAX] {
            let seconds = Seconds::new(number);
            assert_eq!(seconds.as_ms(), u64::from(number) * 1_000);
            assert_eq!(seconds.duration(), Duration::from_millis(seconds.as_ms()));
        }
    }

    #[test]
    fn text_and_json_are_those_of_the_integer() {
        for (number, text) in [(0, "0"), (3_600, "3600"), (u32::MAX, "4294967295")] {
            let seconds = Seconds::new(number);
            assert_eq!(seconds.to_string(), text);
            assert_eq!(serde_json::to_string(&seconds).unwrap(), text);
            assert_eq!(serde_json::from_str::<Seconds>(text).unwrap(), seconds);
        }
    }
}
