//! Transactions of the chain: what they say, their bytes, their id.
//!
//! Every transaction has the same 149 bytes (`docs/formats/chain.md`), big-endian, and an extension only where its kind needs one:
//!
//! ```text
//! version 1 | kind 1 | chain 1 | time 4 | deadline 2 | sender 32 | recipient 16 | amount 8 | fee 8 | anchor height 4 | anchor id 8
//! [ extension length 2 | extension ]        where the kind's high bit is set
//! signature 64                              last
//! ```
//!
//! The *unsigned bytes* are all but the signature. Id and signature are over `H(chain transaction, genesis | unsigned bytes)`, so a
//! copy signed anew is the same transaction, and no network takes another's.

mod bytes;
mod carried;

use std::fmt;
use std::str::FromStr;

use primitives::{
    Domain, Hash, KeyPair, PublicKey, Scheme, Signature, SignatureContext, SignedMessage, hex,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{AccountId, ChainId};

pub use bytes::{EXTENSION_BYTES_MAX, PAYMENT_BYTES, read, read_exact};
pub use carried::Carried;

/// A transaction's full id: its time (`u32`, big-endian) and the first 28 bytes of its hash. Ids sort by time, so that an index of
/// ids grows at its end, and look-ups of what is recent stay in what is cached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TxId(pub [u8; 32]);

impl TxId {
    /// The transaction's time, in seconds since genesis.
    #[must_use]
    pub fn time(&self) -> u32 {
        u32::from_be_bytes([self.0[0], self.0[1], self.0[2], self.0[3]])
    }

    /// As a leaf of a tree of hashes.
    #[must_use]
    pub fn leaf(&self) -> Hash {
        Hash::from_bytes(self.0)
    }

    /// The short id, for people: the first 8 bytes of the hash, without the time.
    #[must_use]
    pub fn short(&self) -> String {
        hex::encode(&self.0[4..12])
    }
}

impl fmt::Display for TxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex::encode(&self.0))
    }
}

impl fmt::Debug for TxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for TxId {
    type Err = primitives::ParseHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<Hash>().map(|hash| Self(*hash.as_bytes()))
    }
}

impl Serialize for TxId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TxId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The block that a transaction refers to: it is valid only on branches that have this block, deep enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Anchor {
    /// The block's height.
    pub height: u32,
    /// The first 8 bytes of its hash.
    pub id: [u8; 8],
}

impl Anchor {
    /// An anchor at a block.
    #[must_use]
    pub fn at(height: u32, block: &Hash) -> Self {
        let mut id = [0; 8];
        id.copy_from_slice(&block.as_bytes()[..8]);
        Self { height, id }
    }
}

/// What a transaction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Moves `amount` of the chain's token.
    Payment {
        /// To whom.
        to: AccountId,
        /// How much, in minor units.
        amount: u64,
        /// A message that everybody can read, or nothing.
        message: Vec<u8>,
    },
    /// Lends the sender's whole effective balance for forging (parent chain only).
    Lease {
        /// To whom.
        to: AccountId,
        /// For how many blocks, from the lease delay on.
        blocks: u32,
    },
    /// A child block: carries transactions of one child chain by their ids (parent chain only; made by bundlers).
    ChildBlock {
        /// The child chain.
        child: ChainId,
        /// How many.
        count: u32,
        /// The Merkle root of their ids, ascending.
        root: Hash,
    },
}

/// A transaction, signed or about to be. It was decoded; whether it is valid is another question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The chain whose token it moves and its fee is in.
    pub chain: ChainId,
    /// When it was made, in seconds since genesis.
    pub time: u32,
    /// It may stand in blocks until so many minutes after `time`.
    pub deadline_minutes: u16,
    /// The sender's Ed25519 key.
    pub sender: [u8; 32],
    /// The fee, in minor units of the chain's token.
    pub fee: u64,
    /// The block it refers to.
    pub anchor: Anchor,
    /// What it does.
    pub body: Body,
    /// The signature; zeroes before it is signed.
    pub signature: [u8; 64],
}

impl Transaction {
    /// The sender's account.
    #[must_use]
    pub fn sender_account(&self) -> AccountId {
        AccountId::of_key(&self.sender)
    }

    /// What id and signature are made of.
    #[must_use]
    pub fn hash(&self, genesis: &Hash) -> Hash {
        Self::hash_of_bytes(&self.to_bytes(), genesis)
    }

    /// The same, of its bytes, signature included.
    #[must_use]
    pub fn hash_of_bytes(bytes: &[u8], genesis: &Hash) -> Hash {
        let unsigned = bytes.len().saturating_sub(Signature::LENGTH);
        Hash::of(
            Domain::ChainTransaction,
            &[genesis.as_bytes(), &bytes[..unsigned]],
        )
    }

    /// The id, of [`Transaction::hash`].
    #[must_use]
    pub fn id_of(&self, hash: &Hash) -> TxId {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&self.time.to_be_bytes());
        id[4..].copy_from_slice(&hash.as_bytes()[..28]);
        TxId(id)
    }

    /// The id.
    #[must_use]
    pub fn id(&self, genesis: &Hash) -> TxId {
        self.id_of(&self.hash(genesis))
    }

    /// Signs it with the sender's key.
    pub fn sign(&mut self, genesis: &Hash, key: &KeyPair) {
        let signature = key.sign(SignatureContext::ChainTransaction, &self.hash(genesis));
        self.signature = *signature.bytes();
    }

    /// The signature to check, over [`Transaction::hash`].
    #[must_use]
    pub fn signed_message(&self, hash: Hash) -> SignedMessage {
        SignedMessage {
            key: PublicKey::Ed25519(self.sender),
            context: SignatureContext::ChainTransaction,
            message: hash,
            signature: Signature::new(Scheme::Ed25519, self.signature),
        }
    }

    /// The last second since genesis at which it may stand in a block.
    #[must_use]
    pub fn expires(&self) -> u32 {
        self.time
            .saturating_add(u32::from(self.deadline_minutes) * 60)
    }

    /// What it takes from the sender on its chain, fee included; `None` beyond what can be.
    #[must_use]
    pub fn debit(&self) -> Option<u64> {
        match self.body {
            Body::Payment { amount, .. } => amount.checked_add(self.fee),
            Body::Lease { .. } | Body::ChildBlock { .. } => Some(self.fee),
        }
    }
}
