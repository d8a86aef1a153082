//! Names of contracts.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use primitives::{Coded, Decode, DecodeError, Decoder, Encode, Encoder};
use thiserror::Error;

use crate::errors;
use crate::limits::CONTRACT_NAME_BYTES_MAX;

/// The name of a contract, such as `tally.cash`: 1 to 64 characters, lower-case words of `a-z 0-9 _ -` that begin with a
/// letter, joined by single dots. Encoded as a text string.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContractName(Arc<str>);

/// A contract's name is not of the right form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not a contract's name")]
pub struct ContractNameError(pub String);

impl Coded for ContractNameError {
    fn code(&self) -> &'static str {
        "contract.name_invalid"
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl ContractName {
    /// Checks a name.
    pub fn new(name: &str) -> Result<Self, ContractNameError> {
        if is_valid(name) {
            Ok(Self(name.into()))
        } else {
            Err(ContractNameError(
                name.chars().take(CONTRACT_NAME_BYTES_MAX).collect(),
            ))
        }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_valid(name: &str) -> bool {
    name.len() <= CONTRACT_NAME_BYTES_MAX
        && name.split('.').all(|word| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word
                    .bytes()
                    .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
        })
}

impl FromStr for ContractName {
    type Err = ContractNameError;

    fn from_str(name: &str) -> Result<Self, ContractNameError> {
        Self::new(name)
    }
}

impl fmt::Display for ContractName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ContractName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContractName({})", self.0)
    }
}

impl Encode for ContractName {
    fn encode(&self, e: &mut Encoder) {
        e.text(&self.0);
    }
}

impl Decode for ContractName {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let text = d.text()?;
        if is_valid(text) {
            Ok(Self(text.into()))
        } else {
            Err(d.invalid("a contract's name is not of the right form"))
        }
    }
}

/// A version of a contract. Encoded as `[name, version]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContractRef {
    /// The contract.
    pub name: ContractName,
    /// Its version, from 1.
    pub version: u32,
}

primitives::record!(ContractRef { name, version });

impl fmt::Display for ContractRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} version {}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_contracts() {
        for good in ["a", "tally.cash", "org.example.bond-2_x"] {
            assert_eq!(good.parse::<ContractName>().unwrap().as_str(), good);
        }
        let long = "a".repeat(65);
        for bad in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "Tally.cash",
            "tally cash",
            "1a",
            "é",
            &long,
        ] {
            let error = bad.parse::<ContractName>().unwrap_err();
            assert_eq!(error.code(), "contract.name_invalid", "{bad}");
            assert!(error.hint().contains("tally.cash"));
        }
    }
}
