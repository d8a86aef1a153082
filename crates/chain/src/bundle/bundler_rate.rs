//! The rate of a bundler.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{MinorUnits, Params, Percent};

/// The price of a bundler: minor units of the child's token for each whole parent token that a carried transaction costs (Ardor's
/// bundling rate). The lower rate is the cheaper one. A rate of 0 carries for nothing.
///
/// It is a choice of bundlers and not a rule of consensus. As JSON it is a plain number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct BundlerRate(u64);

impl BundlerRate {
    /// The rate of a bundler that carries for nothing.
    pub const ZERO: Self = Self(0);
    /// The highest rate that the formats can express.
    pub const MAX: Self = Self(u64::MAX);

    /// Makes a rate.
    #[must_use]
    pub const fn new(minor_units: u64) -> Self {
        Self(minor_units)
    }

    /// Returns the rate of a whole child token for a whole parent token, or `None` beyond [`BundlerRate::MAX`].
    #[must_use]
    pub fn one_for_one(child_decimals: u8) -> Option<Self> {
        10u64.checked_pow(u32::from(child_decimals)).map(Self)
    }

    /// Returns the minor units of the child's token.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the rate raised by a percentage, rounded up, or `None` beyond [`BundlerRate::MAX`].
    #[must_use]
    pub fn raised_by(self, percent: Percent) -> Option<Self> {
        let raised = percent.hundred_times_raised(self.0).div_ceil(100);
        u64::try_from(raised).ok().map(Self)
    }

    /// Returns the minimum child fee of a transaction at this rate, in the child's token, rounded up. The bundler pays
    /// the minimum parent fee raised by `overpay` for the transaction.
    #[must_use]
    pub fn fee(self, overpay: Percent, params: &Params, parent_decimals: u8) -> MinorUnits {
        let cost = overpay.hundred_times_raised(params.child_block_fee_per_transaction.get());
        // A fee beyond 64 bits is one that no account can pay.
        let whole = 10u128.saturating_pow(u32::from(parent_decimals));
        let fee = u128::from(self.0).saturating_mul(cost);
        MinorUnits::from_u128(fee.div_ceil(whole.saturating_mul(100))).unwrap_or(MinorUnits::MAX)
    }

    /// Encodes the rate as a big-endian integer.
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Decodes a rate that [`BundlerRate::to_be_bytes`] has encoded.
    #[must_use]
    pub const fn from_be_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }
}

impl fmt::Display for BundlerRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
