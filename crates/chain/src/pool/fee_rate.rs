//! The fee rate of a transaction.

use std::fmt;

use crate::MinorUnits;

/// Number of bytes that a fee rate refers to.
const RATE_BYTES: u64 = 1_000;

/// A fee in minor units of a chain's token for each 1,000 bytes, rounded down. Fee rates of one chain are in order, the greater one
/// is the better one. Those of different chains cannot be compared, because their tokens differ.
///
/// It orders the pool and chooses child blocks for a block. It is a preference of nodes and not a rule of consensus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeeRate(u64);

impl FeeRate {
    /// Returns the rate of a fee for a number of bytes. The greatest rate stands for all above it. No bytes count
    /// as one.
    #[must_use]
    pub fn of(fee: MinorUnits, bytes: u32) -> Self {
        let rate = fee.get_u128() * u128::from(RATE_BYTES) / u128::from(bytes.max(1));
        // All rates beyond 64 bits are equally good.
        Self(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Returns the lowest fee of a number of bytes whose rate is above this one, or `None` beyond 64 bits. No account can pay such
    /// a fee.
    #[must_use]
    pub fn fee_above(self, bytes: u32) -> Option<MinorUnits> {
        let fee = (u128::from(self.0) + 1) * u128::from(bytes);
        MinorUnits::from_u128(fee.div_ceil(u128::from(RATE_BYTES)))
    }
}

impl fmt::Display for FeeRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_fee_for_a_thousand_bytes_rounded_down() {
        let of = |fee, bytes| FeeRate::of(MinorUnits::new(fee), bytes);
        for (fee, bytes, rate) in [
            (0, 149, 0),
            (149, 149, 1_000),
            (150, 149, 1_006),
            (7, 0, 7_000),
            (u64::MAX, 1_000, u64::MAX),
            (u64::MAX, 149, u64::MAX),
        ] {
            assert_eq!(of(fee, bytes), FeeRate(rate), "{fee} / {bytes}");
        }
        assert!(of(2, 100) > of(3, 200));
        assert_eq!(FeeRate(1_006).to_string(), "1006");
    }

    #[test]
    fn the_fee_above_is_the_lowest_with_a_better_rate() {
        for (fee, bytes) in [(0, 149), (1, 149), (149, 149), (999_999, 1_200), (5, 1)] {
            let rate = FeeRate::of(MinorUnits::new(fee), bytes);
            let above = rate.fee_above(bytes).unwrap();
            let below = above.checked_sub(MinorUnits::new(1)).unwrap();
            assert!(FeeRate::of(above, bytes) > rate, "{fee} / {bytes}");
            assert!(FeeRate::of(below, bytes) <= rate, "{fee} / {bytes}");
        }
        assert_eq!(FeeRate(u64::MAX).fee_above(1_001), None);
    }
}
