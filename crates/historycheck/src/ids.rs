//! Transactions and states by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Length of a digest in bytes.
const DIGEST_BYTES: usize = 32;

/// A text that names no transaction or state.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected {expected}, found '{found}'")]
pub struct ParseIdError {
    expected: &'static str,
    found: String,
}

/// A transaction's id, or its hash in conflicts: 32 bytes, as 64 lower-case hexadecimal digits. There is one text for each
/// value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; DIGEST_BYTES]);

impl From<[u8; DIGEST_BYTES]> for Digest {
    fn from(bytes: [u8; DIGEST_BYTES]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // Histories are long, and formatting each byte by itself is slow.
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let text: String = digits
            .map(|digit| char::from(DIGITS[usize::from(digit)]))
            .collect();
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let error = || ParseIdError {
            expected: "64 lower-case hexadecimal digits",
            found: text.to_owned(),
        };
        if text.len() != 2 * DIGEST_BYTES {
            return Err(error());
        }
        let mut bytes = [0; DIGEST_BYTES];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let [high, low] = [digits[0], digits[1]].map(digit);
            *byte = high
                .zip(low)
                .map(|(high, low)| high << 4 | low)
                .ok_or_else(error)?;
        }
        Ok(Self(bytes))
    }
}

fn digit(text: u8) -> Option<u8> {
    match text {
        b'0'..=b'9' => Some(text - b'0'),
        b'a'..=b'f' => Some(text - b'a' + 10),
        _ => None,
    }
}

impl TryFrom<String> for Digest {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// An output of a transaction, as `ID:INDEX`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StateRef {
    /// The transaction that made the state.
    pub transaction: Digest,
    /// The index of the output.
    pub index: u32,
}

impl fmt::Display for StateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.transaction, self.index)
    }
}

impl fmt::Debug for StateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for StateRef {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let parsed = text.split_once(':').and_then(|(transaction, digits)| {
            let index: u32 = digits.parse().ok()?;
            let transaction = transaction.parse().ok()?;
            // The standard library also reads a sign and leading zeros.
            (digits == index.to_string()).then_some(Self { transaction, index })
        });
        parsed.ok_or_else(|| ParseIdError {
            expected: "ID:INDEX",
            found: text.to_owned(),
        })
    }
}

impl TryFrom<String> for StateRef {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

impl From<StateRef> for String {
    fn from(state: StateRef) -> Self {
        state.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_text() {
        let id = "0a".repeat(32);
        assert_eq!(id.parse::<Digest>().map(String::from), Ok(id.clone()));
        for wrong in [
            "",
            "0a",
            &"0A".repeat(32),
            &"0g".repeat(32),
            &"é".repeat(32),
        ] {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
        let state = format!("{id}:17");
        assert_eq!(state.parse::<StateRef>().map(String::from), Ok(state));
        for index in ["", ":", ":-1", ":+1", ":01", ":4294967296", "(1)"] {
            let wrong = format!("{id}{index}");
            assert!(wrong.parse::<StateRef>().is_err(), "{wrong}");
        }
    }
}
