//! Ticker symbols.

use std::fmt;

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An issuer's symbol for its stock: 1 to 16 capital letters, digits, dots and hyphens, a letter first. Encoded as a text
/// string.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(String);

impl Symbol {
    /// Maximum number of characters.
    pub const CHARS_MAX: usize = 16;

    /// Returns the symbol as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn new(text: &str) -> Option<Self> {
        let first = text.chars().next()?;
        let fits = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '.' || c == '-';
        let good = first.is_ascii_uppercase() && text.len() <= Self::CHARS_MAX;
        (good && text.chars().all(fits)).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Symbol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

primitives::text_schema!(Symbol, "Symbol", {
    "pattern": "^[A-Z][A-Z0-9.-]{0,15}$",
    "examples": ["ACME"],
    "description": "1 to 16 capital letters, digits, dots and hyphens, a letter first."
});

impl<'de> Deserialize<'de> for Symbol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl Encode for Symbol {
    fn encode(&self, e: &mut Encoder) {
        e.text(&self.0);
    }
}

impl Decode for Symbol {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Self::new(d.text_within(Self::CHARS_MAX)?)
            .ok_or_else(|| d.invalid("a symbol is capital letters, digits, dots and hyphens"))
    }
}
