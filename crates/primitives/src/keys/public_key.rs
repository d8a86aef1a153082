//! Public keys: of one scheme, or composite.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{CompositeKey, KeyError, Scheme};
use crate::{Decode, DecodeError, Decoder, Encode, Encoder, hex};

/// The number of the composite variant in encodings. The schemes have the numbers below it.
const COMPOSITE: u64 = 3;

/// A public key. Keys have the same order as their encodings, compared byte by byte.
///
/// Whether the bytes are a point of the curve is only checked together with a signature. If they are not, every signature of
/// the key is invalid.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PublicKey {
    /// Ed25519.
    Ed25519([u8; 32]),
    /// P-256, the point compressed (SEC 1, 2.3.3).
    EcdsaP256([u8; 33]),
    /// Several keys with weights and a threshold.
    Composite(Arc<CompositeKey>),
}

impl PublicKey {
    /// Returns the scheme, unless the key is composite.
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        match self {
            Self::Ed25519(_) => Some(Scheme::Ed25519),
            Self::EcdsaP256(_) => Some(Scheme::EcdsaP256),
            Self::Composite(_) => None,
        }
    }

    /// Returns every key whose signature counts for this one: the key itself, or for a composite key, all simple keys in it at
    /// any depth.
    #[must_use]
    pub fn leaf_keys(&self) -> BTreeSet<Self> {
        let mut keys = BTreeSet::new();
        self.collect_leaves(&mut keys);
        keys
    }

    fn collect_leaves(&self, keys: &mut BTreeSet<Self>) {
        match self {
            Self::Composite(composite) => {
                for (_, child) in composite.children() {
                    child.collect_leaves(keys);
                }
            }
            leaf => {
                keys.insert(leaf.clone());
            }
        }
    }

    /// Tells whether signatures by `signers` satisfy this key: it is one of them, or enough weight of a composite is
    /// satisfied.
    #[must_use]
    pub fn is_fulfilled_by(&self, signers: &BTreeSet<Self>) -> bool {
        match self {
            Self::Composite(composite) => composite.is_fulfilled_by(signers),
            leaf => signers.contains(leaf),
        }
    }

    /// Returns the whole key as text: `ed25519:<hex>`, `p256:<hex>` or `composite:<hex of its encoding>`. `FromStr`
    /// reads it back.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Ed25519(bytes) => format!("ed25519:{}", hex::encode(bytes)),
            Self::EcdsaP256(bytes) => format!("p256:{}", hex::encode(bytes)),
            Self::Composite(_) => format!("composite:{}", hex::encode(&self.to_bytes())),
        }
    }

    pub(super) fn decode_at(d: &mut Decoder<'_>, depth: usize) -> Result<Self, DecodeError> {
        let offset = d.offset();
        let found = d.array()?;
        if found == 0 {
            return Err(DecodeError::WrongLength {
                offset,
                expected: 2,
                found,
            });
        }
        let tag = d.u64()?;
        let expected = if tag == COMPOSITE { 3 } else { 2 };
        if !(1..=COMPOSITE).contains(&tag) {
            return Err(DecodeError::UnknownVariant { offset, tag });
        }
        if found != expected {
            return Err(DecodeError::WrongLength {
                offset,
                expected,
                found,
            });
        }
        match tag {
            1 => d.byte_array().map(Self::Ed25519),
            2 => {
                let bytes: [u8; 33] = d.byte_array()?;
                if !matches!(bytes[0], 2 | 3) {
                    return Err(d.invalid("a P-256 key is not a compressed point"));
                }
                Ok(Self::EcdsaP256(bytes))
            }
            _ => CompositeKey::decode_at(d, depth).map(|key| Self::Composite(Arc::new(key))),
        }
    }
}

/// Short, for people: the scheme and the first bytes.
impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ed25519(bytes) => write!(f, "ed25519:{}", hex::encode(&bytes[..6])),
            Self::EcdsaP256(bytes) => write!(f, "p256:{}", hex::encode(&bytes[..6])),
            Self::Composite(key) => write!(
                f,
                "composite({} of {} keys)",
                key.threshold(),
                key.children().len()
            ),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (scheme, digits) = text.split_once(':').ok_or(KeyError::Malformed)?;
        let key = match scheme {
            "ed25519" => hex::decode_array(digits).map(Self::Ed25519),
            "p256" => hex::decode_array(digits)
                .filter(|bytes: &[u8; 33]| matches!(bytes[0], 2 | 3))
                .map(Self::EcdsaP256),
            "composite" => hex::decode(digits)
                .and_then(|bytes| Self::from_bytes(&bytes).ok())
                .filter(|key| key.scheme().is_none()),
            _ => None,
        };
        key.ok_or(KeyError::Malformed)
    }
}

impl Encode for PublicKey {
    fn encode(&self, e: &mut Encoder) {
        match self {
            Self::Ed25519(bytes) => {
                e.array(2);
                e.u64(Scheme::Ed25519 as u64);
                e.bytes(bytes);
            }
            Self::EcdsaP256(bytes) => {
                e.array(2);
                e.u64(Scheme::EcdsaP256 as u64);
                e.bytes(bytes);
            }
            Self::Composite(key) => {
                e.array(3);
                e.u64(COMPOSITE);
                key.encode_fields(e);
            }
        }
    }
}

impl Decode for PublicKey {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Self::decode_at(d, 0)
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

crate::text_schema!(PublicKey, "PublicKey", {
    "pattern": "^(ed25519|p256|composite):[0-9a-fA-F]+$",
    "description": "A public key: its scheme, a colon, hexadecimal digits."
});

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
