//! The time of a chain.

/// A reading of a chain's clock: milliseconds since genesis. A duration, a time of day and the time of a block
/// ([`BlockTimestamp`](crate::BlockTimestamp), in seconds) are other quantities, so none of them can stand in for this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainTime(u64);

impl ChainTime {
    /// The time of genesis.
    pub const GENESIS: Self = Self(0);

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

    /// Returns the milliseconds from this reading to a later one, or `None` if the other one is earlier.
    #[must_use]
    pub const fn ms_until(self, later: Self) -> Option<u64> {
        later.0.checked_sub(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_never_lead_back() {
        let (early, late) = (ChainTime::from_ms(1), ChainTime::from_ms(5));
        assert_eq!(early.ms_until(late), Some(4));
        assert_eq!(late.ms_until(late), Some(0));
        assert_eq!(late.ms_until(early), None);
    }
}
