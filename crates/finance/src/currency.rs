//! Currency codes.

use std::fmt;

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A currency code of three capital letters, as in ISO 4217. Encoded as a text string.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// Returns the code.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("three capital letters")
    }

    pub(super) fn new(code: &str) -> Option<Self> {
        let code: [u8; 3] = code.as_bytes().try_into().ok()?;
        code.iter()
            .all(u8::is_ascii_uppercase)
            .then_some(Self(code))
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

primitives::text_schema!(Currency, "Currency", {
    "pattern": "^[A-Z]{3}$",
    "examples": ["GBP"],
    "description": "Three capital letters, as in ISO 4217."
});

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl Encode for Currency {
    fn encode(&self, e: &mut Encoder) {
        e.text(self.as_str());
    }
}

impl Decode for Currency {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Self::new(d.text()?).ok_or_else(|| d.invalid("a currency is three capital letters"))
    }
}
