//! Durations in minutes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Seconds;

/// A duration in whole minutes, the unit of transactions' deadlines. The formats have 16 bits for it, 45 days. A network sets a lower
/// maximum ([`Params::deadline_minutes_max`](crate::Params::deadline_minutes_max)). As JSON it is a plain number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Minutes(u16);

impl Minutes {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest duration that the formats can express.
    pub const MAX: Self = Self(u16::MAX);

    /// Makes a duration.
    #[must_use]
    pub const fn new(minutes: u16) -> Self {
        Self(minutes)
    }

    /// Returns the number of minutes.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Returns the same duration in seconds.
    #[must_use]
    pub fn seconds(self) -> Seconds {
        // 16 and 6 bits have a product within 32 bits.
        Seconds::new(u32::from(self.0) * 60)
    }

    /// Encodes the duration as a big-endian integer.
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }

    /// Decodes a duration that [`Minutes::to_be_bytes`] has encoded.
    #[must_use]
    pub const fn from_be_bytes(bytes: [u8; 2]) -> Self {
        Self(u16::from_be_bytes(bytes))
    }
}

impl fmt::Display for Minutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_sixty_seconds() {
        for (minutes, seconds) in [(0, 0), (1, 60), (u16::MAX, 3_932_100)] {
            assert_eq!(Minutes::new(minutes).seconds(), Seconds::new(seconds));
        }
    }

    #[test]
    fn bytes_text_and_json_are_those_of_the_integer() {
        let minutes = Minutes::new(0x0102);
        assert_eq!(minutes.to_be_bytes(), [1, 2]);
        assert_eq!(Minutes::from_be_bytes([1, 2]), minutes);
        for (number, text) in [(0, "0"), (1_440, "1440"), (u16::MAX, "65535")] {
            let minutes = Minutes::new(number);
            assert_eq!(minutes.to_string(), text);
            assert_eq!(serde_json::to_string(&minutes).unwrap(), text);
            assert_eq!(serde_json::from_str::<Minutes>(text).unwrap(), minutes);
        }
    }
}
