//! Identifiers: hashes with a meaning, one type each.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Hash, ParseHashError};

macro_rules! hash_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// Encoded as the hash: a byte string of 32 bytes. Shown as 64 hexadecimal digits.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Hash);

        impl $name {
            /// Returns the id that is this hash.
            pub const fn from_hash(hash: Hash) -> Self {
                Self(hash)
            }

            /// Returns the hash.
            pub const fn hash(&self) -> Hash {
                self.0
            }

            /// Returns the 32 bytes.
            pub fn as_bytes(&self) -> &[u8; 32] {
                self.0.as_bytes()
            }

            /// Returns the id of these 32 bytes.
            pub fn from_array(bytes: [u8; 32]) -> Self {
                Self(Hash::from_bytes(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        primitives::text_schema!($name, "Id", {
            "pattern": "^[0-9a-fA-F]{64}$",
            "description": "64 hexadecimal digits."
        });

        impl FromStr for $name {
            type Err = ParseHashError;

            fn from_str(text: &str) -> Result<Self, ParseHashError> {
                text.parse().map(Self)
            }
        }

        impl Encode for $name {
            fn encode(&self, e: &mut Encoder) {
                self.0.encode(e);
            }
        }

        impl Decode for $name {
            fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                Hash::decode(d).map(Self)
            }
        }
    };
}

hash_id! {
    /// The id of a transaction: the root of the Merkle tree over its component groups.
    TxId
}

hash_id! {
    /// The id of a party: the hash of its legal name, `Hash::of(PartyId, [canonical name])`. It stays the same when the
    /// party changes its key.
    PartyId
}

hash_id! {
    /// The id of a kind of fungible thing: equal ids can be added up. `Hash::of(TokenId, [...])`; each contract defines
    /// the hashed parts.
    TokenId
}

impl PartyId {
    /// Returns the name that a node's TLS certificate carries for this party: `p` and the first 40 hexadecimal digits
    /// of the id, then `.party.tally`.
    pub fn dns_name(&self) -> String {
        use fmt::Write;
        let mut name = String::with_capacity(53);
        name.push('p');
        for byte in &self.as_bytes()[..20] {
            // Writing to a string does not fail.
            let _ = write!(name, "{byte:02x}");
        }
        name.push_str(".party.tally");
        name
    }
}

/// Names a state: the transaction that made it and its place among that transaction's outputs.
///
/// Encoded as `[transaction id, index]`. In JSON, a reader also takes the text `TX(INDEX)`, as it is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct StateRef {
    /// The transaction.
    pub tx: TxId,
    /// The index of the output, from 0.
    pub index: u32,
}

primitives::record!(StateRef { tx, index });

impl StateRef {
    /// Returns the state at an index of a transaction's outputs.
    pub const fn new(tx: TxId, index: u32) -> Self {
        Self { tx, index }
    }
}

impl fmt::Display for StateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.tx, self.index)
    }
}

/// A text that is not a [`StateRef`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is no state: expected TX(INDEX), such as '756f..(0)' with all 64 digits")]
pub struct ParseStateRefError(String);

impl FromStr for StateRef {
    type Err = ParseStateRefError;

    fn from_str(text: &str) -> Result<Self, ParseStateRefError> {
        let parts = text.strip_suffix(')').and_then(|text| text.split_once('('));
        let parsed = parts.and_then(|(tx, index)| {
            // The standard library also reads a sign.
            let digits = index.bytes().all(|byte| byte.is_ascii_digit());
            let index = index.parse().ok().filter(|_| digits)?;
            Some(Self::new(tx.parse().ok()?, index))
        });
        parsed.ok_or_else(|| ParseStateRefError(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for StateRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_any(StateRefVisitor);
        }
        // Also names the fields to a deserializer that only looks at the shape of the type.
        deserializer.deserialize_struct("StateRef", &["tx", "index"], StateRefVisitor)
    }
}

/// Reads a state as an object or as text.
struct StateRefVisitor;

impl<'de> Visitor<'de> for StateRefVisitor {
    type Value = StateRef;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a state, as \"TX(INDEX)\" or as {\"tx\": .., \"index\": ..}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<StateRef, E> {
        text.parse().map_err(de::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StateRef, A::Error> {
        #[derive(Deserialize)]
        struct Fields {
            tx: TxId,
            index: u32,
        }
        let fields = Fields::deserialize(MapAccessDeserializer::new(map))?;
        Ok(StateRef::new(fields.tx, fields.index))
    }
}

impl fmt::Debug for StateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateRef({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_as_objects_and_as_text() {
        let tx = TxId::from_array([0x75; 32]);
        let state = StateRef::new(tx, 7);
        assert_eq!(state.to_string().parse(), Ok(state));
        for (json, refused) in [
            (format!(r#"{{"tx":"{tx}","index":7}}"#), None),
            (format!(r#""{tx}(7)""#), None),
            (format!(r#""{tx}""#), Some("expected TX(INDEX)")),
            (format!(r#""{tx}(+7)""#), Some("expected TX(INDEX)")),
            (format!(r#""{tx}(4294967296)""#), Some("expected TX(INDEX)")),
            (r#""75(7)""#.to_owned(), Some("expected TX(INDEX)")),
            (format!(r#"{{"tx":"{tx}"}}"#), Some("missing field `index`")),
            (
                "7".to_owned(),
                Some("expected a state, as \"TX(INDEX)\" or as"),
            ),
        ] {
            let read = serde_json::from_str::<StateRef>(&json).map_err(|error| error.to_string());
            match refused {
                None => assert_eq!(read, Ok(state), "{json}"),
                Some(part) => {
                    let error = read.expect_err(&json);
                    assert!(error.contains(part), "{json}: {error}");
                }
            }
        }
        let written = serde_json::to_string(&state).expect("JSON");
        assert_eq!(written, format!(r#"{{"tx":"{tx}","index":7}}"#));
    }
}
