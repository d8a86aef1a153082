//! A relative increase of an amount, in percent.

use serde::{Deserialize, Serialize};

/// A relative increase of an amount, in percent: 25 stands for a quarter more. Any 32-bit number is allowed. As JSON it is a plain
/// number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Percent(u32);

impl Percent {
    /// No increase.
    pub const ZERO: Self = Self(0);

    /// Makes a percentage.
    #[must_use]
    pub const fn new(percent: u32) -> Self {
        Self(percent)
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns a hundred times the raised amount, so that no rounding occurs.
    #[must_use]
    pub fn hundred_times_raised(self, amount: u64) -> u128 {
        // 64 and 33 bits have a product within 128 bits.
        u128::from(amount) * (100 + u128::from(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_amount_has_no_rounding() {
        for (percent, amount, hundredfold) in [
            (0, 7, 700),
            (25, 7, 875),
            (100, 1, 200),
            (u32::MAX, 0, 0),
            (
                u32::MAX,
                u64::MAX,
                u128::from(u64::MAX) * (100 + u128::from(u32::MAX)),
            ),
        ] {
            let percent = Percent::new(percent);
            assert_eq!(percent.hundred_times_raised(amount), hundredfold);
            let json = serde_json::to_string(&percent).unwrap();
            assert_eq!(json, percent.get().to_string());
            assert_eq!(serde_json::from_str::<Percent>(&json).unwrap(), percent);
        }
    }
}
