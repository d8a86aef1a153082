//! Amounts of a chain's token.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ChainId;

/// An amount of a chain's token, counted in the token's smallest unit. A whole token has `10^decimals` minor units, and each chain
/// sets its own decimals. The type does not name the chain: amounts of different chains must not be added or compared.
///
/// Balances, fees, payments and supplies are minor units. A supply is at most [`SUPPLY_MAX`](crate::genesis::SUPPLY_MAX), and so is
/// every balance. Amounts in transactions that nobody has checked may have all 64 bits. Stake counts whole tokens instead
/// ([`WholeTokens`](crate::WholeTokens)).
///
/// All arithmetic is checked. As JSON it is a plain number; decimal text is read too.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MinorUnits(#[serde(deserialize_with = "primitives::QuantityInput::deserialize")] u64);

/// Does the same as [`MinorUnits::on`], for a sum that may exceed 64 bits.
pub(crate) fn minor_units_on(minor_units: u128, chain: ChainId) -> impl fmt::Display {
    let plural = if minor_units == 1 { "" } else { "s" };
    format!("{minor_units} minor unit{plural} of chain {chain}")
}

impl MinorUnits {
    /// No tokens.
    pub const ZERO: Self = Self(0);
    /// The greatest amount that the formats can express. No account can have it.
    pub const MAX: Self = Self(u64::MAX);

    /// Makes an amount.
    #[must_use]
    pub const fn new(minor_units: u64) -> Self {
        Self(minor_units)
    }

    /// Returns the number of minor units.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number of minor units in 128 bits, in which a sum of up to 2^64 amounts or a product of two does not overflow.
    #[must_use]
    pub const fn get_u128(self) -> u128 {
        self.0 as u128
    }

    /// Writes the amount for an error message: `100 minor units of chain 1`. The core does not write tokens by their names. A program
    /// that knows them can replace this text.
    #[must_use]
    pub fn on(self, chain: ChainId) -> impl fmt::Display {
        minor_units_on(self.get_u128(), chain)
    }

    /// Returns whether the amount is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the sum of two amounts, or `None` beyond [`MinorUnits::MAX`].
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// Returns the amount without another one, or `None` if the other one is greater.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(rest) => Some(Self(rest)),
            None => None,
        }
    }

    /// Returns the amount a number of times, or `None` beyond [`MinorUnits::MAX`].
    #[must_use]
    pub const fn checked_mul(self, times: u64) -> Option<Self> {
        match self.0.checked_mul(times) {
            Some(product) => Some(Self(product)),
            None => None,
        }
    }

    /// Returns the sum of amounts, or `None` beyond [`MinorUnits::MAX`].
    pub fn checked_sum(amounts: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut amounts = amounts.into_iter();
        amounts.try_fold(Self::ZERO, Self::checked_add)
    }

    /// Returns the amount of a 128-bit number of minor units, or `None` beyond [`MinorUnits::MAX`].
    #[must_use]
    pub fn from_u128(minor_units: u128) -> Option<Self> {
        u64::try_from(minor_units).ok().map(Self)
    }

    /// Encodes the amount as a big-endian integer.
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Decodes an amount that [`MinorUnits::to_be_bytes`] has encoded.
    #[must_use]
    pub const fn from_be_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }
}

impl fmt::Display for MinorUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_ends_with_the_range() {
        let amount = MinorUnits::new;
        assert_eq!(amount(2).checked_add(amount(3)), Some(amount(5)));
        assert_eq!(MinorUnits::MAX.checked_add(amount(1)), None);
        assert_eq!(amount(5).checked_sub(amount(5)), Some(MinorUnits::ZERO));
        assert_eq!(amount(5).checked_sub(amount(6)), None);
        assert_eq!(amount(5).checked_mul(3), Some(amount(15)));
        assert_eq!(MinorUnits::MAX.checked_mul(2), None);
    }

    #[test]
    fn sums_detect_an_overflow() {
        let amounts = |list: &[u64]| {
            list.iter()
                .copied()
                .map(MinorUnits::new)
                .collect::<Vec<_>>()
        };
        assert_eq!(MinorUnits::checked_sum([]), Some(MinorUnits::ZERO));
        assert_eq!(
            MinorUnits::checked_sum(amounts(&[1, 2, 4])),
            Some(MinorUnits::new(7))
        );
        assert_eq!(MinorUnits::checked_sum(amounts(&[u64::MAX, 0, 1])), None);
    }

    #[test]
    fn wide_numbers_lead_back_within_64_bits() {
        let sum = MinorUnits::MAX.get_u128() + 1;
        assert_eq!(MinorUnits::from_u128(sum - 1), Some(MinorUnits::MAX));
        assert_eq!(MinorUnits::from_u128(sum), None);
    }

    #[test]
    fn bytes_text_and_json_are_those_of_the_integer() {
        let amount = MinorUnits::new(0x0102_0304_0506_0708);
        assert_eq!(amount.to_be_bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(MinorUnits::from_be_bytes([1, 2, 3, 4, 5, 6, 7, 8]), amount);
        for (number, text) in [(0, "0"), (u64::MAX, "18446744073709551615")] {
            let amount = MinorUnits::new(number);
            assert_eq!(amount.to_string(), text);
            assert_eq!(amount.is_zero(), number == 0);
            assert_eq!(serde_json::to_string(&amount).unwrap(), text);
            assert_eq!(serde_json::from_str::<MinorUnits>(text).unwrap(), amount);
        }
    }
}
