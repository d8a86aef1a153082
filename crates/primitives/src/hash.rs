//! A SHA-256 hash and the domains that keep hashes of different things apart.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::hasher::hash_parts;
use crate::{Decode, DecodeError, Decoder, Encode, Encoder, Hasher, hex};

/// The kind of content that is hashed. Its number is the first byte of the hashed bytes. The numbers are part of the formats
/// and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Domain {
    /// The nonce of one component of a transaction.
    Nonce = 0x01,
    /// A component with its nonce.
    Leaf = 0x02,
    /// An inner node of a Merkle tree.
    Node = 0x03,
    /// A component group of a transaction: its number, its number of components and their Merkle root.
    Group = 0x04,
    /// A transaction id.
    TransactionId = 0x05,
    /// A leaf of the tree that a notary signs for a batch.
    BatchLeaf = 0x06,
    /// The message under a signature.
    Signature = 0x07,
    /// The name of a party.
    PartyId = 0x08,
    /// A fungible token.
    TokenId = 0x09,
    /// The arguments of a flow's effect.
    EffectDigest = 0x0a,
    /// Values derived from others: seeds, random bytes, keys of rows.
    Derive = 0x0b,
    /// The transaction that consumed a state, as told to others.
    ConsumingTx = 0x0c,
    /// An attachment.
    Attachment = 0x0d,
    /// A signed network document.
    Document = 0x0e,
    /// A notary request as its requester signs it.
    NotaryRequest = 0x0f,
    /// The coefficients of a batch of signature checks.
    BatchCoefficients = 0x10,
    /// A client's own id of a flow it started.
    ClientId = 0x11,
    /// A party's statement that a key is its own.
    KeyOwnership = 0x12,
    /// A chain's account: of its public key.
    ChainAccount = 0x13,
    /// A chain's transaction, without its signature.
    ChainTransaction = 0x14,
    /// A chain's block header, without its signature.
    ChainBlock = 0x15,
    /// A chain's genesis.
    ChainGenesis = 0x16,
    /// The state of a chain: all its rows in order.
    ChainState = 0x17,
    /// A node's statement of how far its data has come.
    DataMark = 0x18,
}

/// A SHA-256 hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash([u8; 32]);

impl Hash {
    /// All bits zero: stands where there is nothing to hash.
    pub const ZERO: Self = Self([0; 32]);

    /// Returns SHA-256 of the domain's byte and then the parts, one after the other.
    ///
    /// Parts are not delimited: all but the last have a fixed length or carry it.
    #[must_use]
    pub fn of(domain: Domain, parts: &[&[u8]]) -> Self {
        hash_parts(domain as u8, parts)
    }

    /// Returns SHA-256 of the bytes and nothing else: content addresses that other tools compute too.
    #[must_use]
    pub fn plain(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new();
        hasher.update(bytes);
        hasher.finish()
    }

    /// Makes a hash from its bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Makes a hash from a slice of exactly 32 bytes (a key read back from a store).
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }
}

impl AsRef<[u8]> for Hash {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex::encode(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a hash; give exactly 64 hexadecimal digits")]
pub struct ParseHashError;

impl FromStr for Hash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        hex::decode_array(text).map(Self).ok_or(ParseHashError)
    }
}

impl Encode for Hash {
    fn encode(&self, e: &mut Encoder) {
        e.bytes(&self.0);
    }
}

impl Decode for Hash {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.byte_array().map(Self)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(&self.0))
    }
}

crate::text_schema!(Hash, "Hash", {
    "pattern": "^[0-9a-fA-F]{64}$",
    "description": "A hash: 64 hexadecimal digits."
});

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
