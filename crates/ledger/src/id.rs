//! Identifiers: hashes with a meaning, one type each.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
/// Encoded as `[transaction id, index]`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
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

impl fmt::Debug for StateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateRef({self})")
    }
}
