//! Parsing of currency codes, with a coded error.

use std::str::FromStr;

use crate::{CashError, Currency};

impl FromStr for Currency {
    type Err = CashError;

    fn from_str(code: &str) -> Result<Self, CashError> {
        Currency::new(code).ok_or_else(|| CashError::Currency(code.chars().take(16).collect()))
    }
}
