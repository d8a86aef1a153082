//! Public keys: of one scheme, or composite.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{KeyError, Scheme};
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
    pub fn is_fulfilled_by(&self, signers: &BTreeSet<&Self>) -> bool {
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

    fn decode_at(d: &mut Decoder<'_>, depth: usize) -> Result<Self, DecodeError> {
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

/// A key with child keys. It is satisfied if the satisfied children have a total weight of at least `threshold`.
///
/// # Invariants
/// Has 1 to 64 different children in ascending order, with weights of at least 1. `1 <= threshold <=` the sum of
/// weights, and the sum fits 32 bits. At most 8 levels and 1024 keys in all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompositeKey {
    threshold: u32,
    children: Vec<(u32, PublicKey)>,
    depth: usize,
    leaves: usize,
}

impl CompositeKey {
    /// The most levels of composite keys within one another.
    pub const DEPTH_MAX: usize = 8;
    /// The most children of one composite key.
    pub const CHILDREN_MAX: usize = 64;
    /// The most keys of a single scheme in one composite key, over all levels.
    pub const LEAVES_MAX: usize = 1024;

    /// Makes a composite key of children with their weights, in any order.
    pub fn new(threshold: u32, children: Vec<(u32, PublicKey)>) -> Result<Self, KeyError> {
        let mut children = children;
        children.sort_by(|(_, a), (_, b)| a.cmp(b));
        Self::from_sorted(threshold, children).map_err(KeyError::Composite)
    }

    fn from_sorted(threshold: u32, children: Vec<(u32, PublicKey)>) -> Result<Self, &'static str> {
        if children.is_empty() || children.len() > Self::CHILDREN_MAX {
            return Err("it has no children or more than 64");
        }
        if children.windows(2).any(|pair| pair[0].1 >= pair[1].1) {
            return Err("its children are not in ascending order, or one comes twice");
        }
        if children.iter().any(|(weight, _)| *weight == 0) {
            return Err("a weight is zero");
        }
        let sum = children
            .iter()
            .try_fold(0u32, |sum, (weight, _)| sum.checked_add(*weight))
            .ok_or("the sum of its weights is over 32 bits")?;
        if threshold == 0 || threshold > sum {
            return Err("its threshold is zero or above the sum of weights");
        }
        let deepest = children.iter().map(|(_, key)| depth(key)).max();
        let depth = 1 + deepest.expect("children, which are checked above");
        if depth > Self::DEPTH_MAX {
            return Err("it is more than 8 levels deep");
        }
        // Cannot overflow: there are at most 64 children with at most 1024 leaves each.
        let leaves = children.iter().map(|(_, key)| leaves(key)).sum();
        if leaves > Self::LEAVES_MAX {
            return Err("it is made of more than 1024 keys");
        }
        Ok(Self {
            threshold,
            children,
            depth,
            leaves,
        })
    }

    /// Returns the total weight that satisfies the key.
    #[must_use]
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Returns its children with their weights, in ascending order of the keys.
    #[must_use]
    pub fn children(&self) -> &[(u32, PublicKey)] {
        &self.children
    }

    /// Tells whether signatures by `signers` satisfy it.
    #[must_use]
    pub fn is_fulfilled_by(&self, signers: &BTreeSet<&PublicKey>) -> bool {
        // The sum of all weights fits 32 bits.
        let weight: u32 = self
            .children
            .iter()
            .filter(|(_, key)| key.is_fulfilled_by(signers))
            .map(|(weight, _)| weight)
            .sum();
        weight >= self.threshold
    }

    fn encode_fields(&self, e: &mut Encoder) {
        e.u64(u64::from(self.threshold));
        self.children.encode(e);
    }

    fn decode_at(d: &mut Decoder<'_>, depth: usize) -> Result<Self, DecodeError> {
        if depth >= Self::DEPTH_MAX {
            return Err(DecodeError::TooDeep { offset: d.offset() });
        }
        let threshold = d.u32()?;
        let count = d.array_within(Self::CHILDREN_MAX)?;
        let mut children = Vec::with_capacity(count);
        for _ in 0..count {
            d.expect_array(2)?;
            children.push((d.u32()?, PublicKey::decode_at(d, depth + 1)?));
        }
        Self::from_sorted(threshold, children).map_err(|reason| d.invalid(reason))
    }
}

fn depth(key: &PublicKey) -> usize {
    match key {
        PublicKey::Composite(composite) => composite.depth,
        _ => 0,
    }
}

fn leaves(key: &PublicKey) -> usize {
    match key {
        PublicKey::Composite(composite) => composite.leaves,
        _ => 1,
    }
}

/// The order of the encodings: the threshold, the number of children, then the children one by one.
impl Ord for CompositeKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.threshold
            .cmp(&other.threshold)
            .then_with(|| self.children.len().cmp(&other.children.len()))
            .then_with(|| self.children.cmp(&other.children))
    }
}

impl PartialOrd for CompositeKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
