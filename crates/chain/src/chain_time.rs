//! The time of a chain.

use std::time::Duration;

use primitives::whole_ms;

/// A reading of a chain's clock: milliseconds since genesis. A duration, a time of day and the time of a block
/// ([`BlockTimestamp`](crate::BlockTimestamp), in seconds) are other quantities, so none of them can stand in for this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainTime(u64);

impl ChainTime {
    /// The time of genesis.
    pub const GENESIS: Self = Self(0);
    /// The last reading, 584 million years after genesis. No clock reaches it.
    pub const LAST: Self = Self(u64::MAX);

    /// Makes a reading from milliseconds since genesis.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Returns the milliseconds since genesis.
    #[must_use]
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Returns the reading that long after this one, at most [`ChainTime::LAST`]. Parts of a millisecond are dropped.
    #[must_use]
    pub fn plus_or_last(self, duration: Duration) -> Self {
        // A wait for the last reading never ends.
        Self(self.0.saturating_add(whole_ms(duration)))
    }

    /// Returns the reading that long before this one, at least genesis. Parts of a millisecond are dropped.
    #[must_use]
    pub fn minus_or_genesis(self, duration: Duration) -> Self {
        // The clock of a chain begins at genesis.
        Self(self.0.saturating_sub(whole_ms(duration)))
    }

    /// Returns the time from an earlier or equal reading to this one, or `None` if the other one is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_never_lead_back() {
        let (early, late) = (ChainTime::from_ms(1), ChainTime::from_ms(5));
        assert_eq!(late.since(early), Some(Duration::from_millis(4)));
        assert_eq!(late.since(late), Some(Duration::ZERO));
        assert_eq!(early.since(late), None);
    }

    #[test]
    fn steps_end_at_genesis_and_at_the_last_reading() {
        let (time, ms) = (ChainTime::from_ms(7), Duration::from_millis);
        assert_eq!(time.plus_or_last(ms(3)), ChainTime::from_ms(10));
        assert_eq!(time.plus_or_last(Duration::MAX), ChainTime::LAST);
        assert_eq!(time.minus_or_genesis(ms(7)), ChainTime::GENESIS);
        assert_eq!(time.minus_or_genesis(ms(8)), ChainTime::GENESIS);
        assert_eq!(time.minus_or_genesis(ms(2)), ChainTime::from_ms(5));
        let part = Duration::from_micros(1_999);
        assert_eq!(time.plus_or_last(part), ChainTime::from_ms(8));
    }
}
