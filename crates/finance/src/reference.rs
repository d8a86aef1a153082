//! Issuers' references.

use std::fmt;
use std::str::FromStr;

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, hex};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::CashError;

/// Bytes that distinguish an issuer's issues, 0 to 32 of them. Encoded as a byte string, shown in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference(Vec<u8>);

impl Reference {
    /// Maximum number of bytes.
    pub const BYTES_MAX: usize = 32;

    /// Creates a reference.
    pub fn new(bytes: Vec<u8>) -> Result<Self, CashError> {
        if bytes.len() > Self::BYTES_MAX {
            Err(CashError::Reference)
        } else {
            Ok(Self(bytes))
        }
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Reference {
    type Err = CashError;

    fn from_str(text: &str) -> Result<Self, CashError> {
        hex::decode(text)
            .ok_or(CashError::Reference)
            .and_then(Self::new)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

primitives::text_schema!(Reference, "Reference", {
    "pattern": "^([0-9a-fA-F]{2}){0,32}$",
    "description": "Up to 32 bytes in hexadecimal."
});

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl Encode for Reference {
    fn encode(&self, e: &mut Encoder) {
        e.bytes(&self.0);
    }
}

impl Decode for Reference {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self(d.bytes_within(Self::BYTES_MAX)?.to_vec()))
    }
}
