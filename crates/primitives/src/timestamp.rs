//! A point in time. The caller provides it: no code in the pure crates reads a clock.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Decode, DecodeError, Decoder, Encode, Encoder};

/// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[schemars(inline)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The start of the epoch.
    pub const EPOCH: Self = Self(0);

    /// The last point in time there is.
    pub const MAX: Self = Self(u64::MAX);

    /// Makes a time from milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Returns the time `ms` milliseconds later, or `None` past the end of the range.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Option<Self> {
        self.0.checked_add(ms).map(Self)
    }

    /// Returns the time `ms` milliseconds earlier, or `None` before the epoch.
    #[must_use]
    pub fn minus_ms(self, ms: u64) -> Option<Self> {
        self.0.checked_sub(ms).map(Self)
    }

    /// Returns the milliseconds from `earlier` to this time, or `None` if `earlier` is later.
    #[must_use]
    pub fn since_ms(self, earlier: Self) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }
}

/// Returns a duration in whole milliseconds. A duration beyond 64 bits, 584 million years, is clipped: no clock measures it, and
/// no wait of this length ends.
#[must_use]
pub fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// RFC 3339 in UTC with milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MS_A_DAY: u64 = 86_400_000;
        let (days, ms) = (self.0 / MS_A_DAY, self.0 % MS_A_DAY);
        // Converts days to a date in the proleptic Gregorian calendar. Years are counted from March, so that a leap day is a
        // year's last day.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
        let (second, milli) = (ms / 1_000 % 60, ms % 1_000);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
        )
    }
}

impl Encode for Timestamp {
    fn encode(&self, e: &mut Encoder) {
        e.u64(self.0);
    }
}

impl Decode for Timestamp {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.u64().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_in_milliseconds() {
        assert_eq!(whole_ms(Duration::from_micros(2_999)), 2);
        assert_eq!(whole_ms(Duration::MAX), u64::MAX);
    }

    #[test]
    fn arithmetic() {
        let at = Timestamp::from_ms(100);
        assert_eq!(at.plus_ms(5), Some(Timestamp::from_ms(105)));
        assert_eq!(Timestamp::MAX.plus_ms(1), None);
        assert_eq!(at.minus_ms(101), None);
        assert_eq!(at.since_ms(Timestamp::from_ms(40)), Some(60));
        assert_eq!(Timestamp::EPOCH.since_ms(at), None);
    }

    #[test]
    fn text() {
        let check = |ms, text: &str| assert_eq!(Timestamp::from_ms(ms).to_string(), text);
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_400_001, "2000-02-29T00:00:00.001Z");
        check(1_735_689_599_999, "2024-12-31T23:59:59.999Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
    }
}
