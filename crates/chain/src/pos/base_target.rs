//! The base target.

use std::fmt;

/// The part of a hit that one whole token works off in a second (Ardor's base target). The higher it is, the earlier all turns
/// come.
///
/// A valid chain has no base target of 0. A decoded header may have one until it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BaseTarget(u64);

impl BaseTarget {
    /// Minimum initial base target. Below it, rounding would distort the block times.
    pub const INITIAL_MIN: Self = Self(1_000);

    /// Makes a base target.
    #[must_use]
    pub const fn new(target: u64) -> Self {
        Self(target)
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Encodes the base target as a big-endian integer.
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Decodes a base target that [`BaseTarget::to_be_bytes`] has encoded.
    #[must_use]
    pub const fn from_be_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }
}

impl fmt::Display for BaseTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_text_are_those_of_the_integer() {
        for (number, bytes, text) in [
            (0, [0; 8], "0"),
            (0x0102_0304, [0, 0, 0, 0, 1, 2, 3, 4], "16909060"),
            (u64::MAX, [255; 8], "18446744073709551615"),
        ] {
            let target = BaseTarget::new(number);
            assert_eq!(target.get(), number);
            assert_eq!(target.to_be_bytes(), bytes);
            assert_eq!(BaseTarget::from_be_bytes(bytes), target);
            assert_eq!(target.to_string(), text);
        }
    }
}
