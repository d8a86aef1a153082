//! Parsing of symbols, with a coded error.

use std::str::FromStr;

use super::{StockError, Symbol};

impl FromStr for Symbol {
    type Err = StockError;

    fn from_str(text: &str) -> Result<Self, StockError> {
        Self::new(text).ok_or_else(|| StockError::Symbol(text.chars().take(32).collect()))
    }
}
