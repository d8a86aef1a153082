//! Whole tokens of the parent chain.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number of whole parent tokens, the unit of stake. A part of a token has no weight in forging (Ardor's effective balance).
///
/// Balances and fees count [`MinorUnits`](crate::MinorUnits) instead. [`Genesis`](crate::Genesis) converts between the two, because it holds the decimals.
/// The number is at most the supply. As JSON it is a plain number; decimal text is read too.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct WholeTokens(#[serde(deserialize_with = "primitives::QuantityInput::deserialize")] u64);

impl WholeTokens {
    /// No token.
    pub const ZERO: Self = Self(0);

    /// Makes a number of whole tokens.
    #[must_use]
    pub const fn new(tokens: u64) -> Self {
        Self(tokens)
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns whether there is no token.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for WholeTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_are_those_of_the_integer() {
        for (number, text) in [
            (0, "0"),
            (1_000, "1000"),
            (u64::MAX, "18446744073709551615"),
        ] {
            let tokens = WholeTokens::new(number);
            assert_eq!(tokens.get(), number);
            assert_eq!(tokens.is_zero(), number == 0);
            assert_eq!(tokens.to_string(), text);
            assert_eq!(serde_json::to_string(&tokens).unwrap(), text);
            assert_eq!(serde_json::from_str::<WholeTokens>(text).unwrap(), tokens);
        }
    }
}
