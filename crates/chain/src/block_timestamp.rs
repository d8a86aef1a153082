//! The timestamp of a block.

use std::fmt;

use crate::{ChainTime, Seconds};

/// A whole second of the chain's time, counted from genesis, as the formats express it. Blocks, transactions, rates and evidence have
/// one. Genesis has the timestamp 0. (The *block time* is another term: the target interval between blocks.)
///
/// The chain's clock is finer: [`ChainTime`] counts milliseconds. [`BlockTimestamp::at`] and [`BlockTimestamp::chain_time`] convert between
/// the two. The difference of two timestamps is a number of [`Seconds`], and timestamps cannot be added to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockTimestamp(u32);

impl BlockTimestamp {
    /// The time of genesis.
    pub const GENESIS: Self = Self(0);
    /// The last time that the formats can express, 136 years after genesis.
    pub const LAST: Self = Self(u32::MAX);

    /// Makes a time from the seconds since genesis.
    #[must_use]
    pub const fn new(seconds_since_genesis: u32) -> Self {
        Self(seconds_since_genesis)
    }

    /// Returns the second that contains a reading of the chain's clock, or [`BlockTimestamp::LAST`] after all seconds.
    #[must_use]
    pub fn at(clock: ChainTime) -> Self {
        // After the last second that a block may have, the time stays there.
        u32::try_from(clock.as_ms() / 1_000).map_or(Self::LAST, Self)
    }

    /// Returns the seconds since genesis.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the next second, or `None` after [`BlockTimestamp::LAST`].
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        self.plus(Seconds::new(1))
    }

    /// Returns the time that long after this one, or `None` beyond [`BlockTimestamp::LAST`].
    #[must_use]
    pub const fn plus(self, duration: Seconds) -> Option<Self> {
        match self.0.checked_add(duration.get()) {
            Some(seconds) => Some(Self(seconds)),
            None => None,
        }
    }

    /// Returns the time that long after this one, at most [`BlockTimestamp::LAST`]. Clipping is right where no later timestamp
    /// can occur.
    #[must_use]
    pub const fn plus_or_last(self, duration: Seconds) -> Self {
        // No time of a block is later than the last one.
        Self(self.0.saturating_add(duration.get()))
    }

    /// Returns the time that long before this one, at least genesis. For windows, which begin at genesis in a young chain.
    #[must_use]
    pub const fn minus_or_genesis(self, duration: Seconds) -> Self {
        // No block is before genesis.
        Self(self.0.saturating_sub(duration.get()))
    }

    /// Returns the seconds from an earlier or equal time to this one, or `None` if the other one is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Option<Seconds> {
        match self.0.checked_sub(earlier.0) {
            Some(seconds) => Some(Seconds::new(seconds)),
            None => None,
        }
    }

    /// Returns the beginning of this second on the chain's clock.
    #[must_use]
    pub fn chain_time(self) -> ChainTime {
        ChainTime::from_ms(u64::from(self.0) * 1_000)
    }

    /// Encodes the time as a big-endian integer.
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    /// Decodes a time that [`BlockTimestamp::to_be_bytes`] has encoded.
    #[must_use]
    pub const fn from_be_bytes(bytes: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(bytes))
    }
}

impl fmt::Display for BlockTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_with_the_last_second_and_at_genesis() {
        let (time, seconds) = (BlockTimestamp::new, Seconds::new);
        assert_eq!(time(7).next(), Some(time(8)));
        assert_eq!(BlockTimestamp::LAST.next(), None);
        assert_eq!(
            time(7).plus(seconds(u32::MAX - 7)),
            Some(BlockTimestamp::LAST)
        );
        assert_eq!(time(7).plus(seconds(u32::MAX - 6)), None);
        assert_eq!(
            time(7).plus_or_last(seconds(u32::MAX)),
            BlockTimestamp::LAST
        );
        assert_eq!(time(7).minus_or_genesis(seconds(3)), time(4));
        assert_eq!(
            time(7).minus_or_genesis(seconds(8)),
            BlockTimestamp::GENESIS
        );
    }

    #[test]
    fn differences_are_seconds_and_never_lead_back() {
        let (early, late) = (BlockTimestamp::new(3), BlockTimestamp::new(8));
        assert_eq!(late.since(early), Some(Seconds::new(5)));
        assert_eq!(late.since(late), Some(Seconds::ZERO));
        assert_eq!(early.since(late), None);
    }

    #[test]
    fn it_is_the_second_that_begins_on_the_clock() {
        for time in [
            BlockTimestamp::GENESIS,
            BlockTimestamp::new(9),
            BlockTimestamp::LAST,
        ] {
            let begins = time.chain_time();
            assert_eq!(begins.as_ms(), u64::from(time.get()) * 1_000);
            assert_eq!(BlockTimestamp::at(begins), time);
        }
    }

    #[test]
    fn seconds_are_whole_and_end_with_the_last_one() {
        for (ms, seconds) in [
            (0, 0),
            (999, 0),
            (1_000, 1),
            (u64::from(u32::MAX) * 1_000, u32::MAX),
            (u64::MAX, u32::MAX),
        ] {
            let time = BlockTimestamp::at(ChainTime::from_ms(ms));
            assert_eq!(time, BlockTimestamp::new(seconds), "{ms}");
        }
    }

    #[test]
    fn bytes_and_text_are_those_of_the_integer() {
        let time = BlockTimestamp::new(0x0102_0304);
        assert_eq!(time.to_be_bytes(), [1, 2, 3, 4]);
        assert_eq!(BlockTimestamp::from_be_bytes([1, 2, 3, 4]), time);
        assert_eq!(time.to_string(), "16909060");
    }
}
