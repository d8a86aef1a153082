//! The contents of a transaction, its id and its signature.

use std::fmt;
use std::str::FromStr;

use primitives::{
    Domain, Hash, KeyPair, PublicKey, Scheme, Signature, SignatureContext, SignedMessage, hex,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{AccountId, BlockTimestamp, ChainId, Height, MinorUnits, Minutes};

/// A transaction's full id: its time (`u32`, big-endian) and the first 28 bytes of its hash. Ids sort by time, so an index of ids
/// grows at its end, and lookups of recent ids stay in the cached part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TxId(pub [u8; 32]);

impl TxId {
    /// Returns the transaction's time.
    #[must_use]
    pub fn time(&self) -> BlockTimestamp {
        BlockTimestamp::from_be_bytes([self.0[0], self.0[1], self.0[2], self.0[3]])
    }

    /// Returns the id as a leaf of a Merkle tree.
    #[must_use]
    pub fn leaf(&self) -> Hash {
        Hash::from_bytes(self.0)
    }

    /// Returns the short id for display: the first 8 bytes of the hash, without the time.
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

/// The block that a transaction refers to. The transaction is valid only on branches that contain this block deep enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Anchor {
    /// The block's height.
    pub height: Height,
    /// The first 8 bytes of its hash.
    pub id: [u8; 8],
}

impl Anchor {
    /// Returns an anchor at a block.
    #[must_use]
    pub fn at(height: Height, block: &Hash) -> Self {
        let mut id = [0; 8];
        id.copy_from_slice(&block.as_bytes()[..8]);
        Self { height, id }
    }

    /// Returns whether the anchor is at least this many blocks below a block of this height. Genesis is always deep enough.
    #[must_use]
    pub fn is_deep(&self, depth_min: u32, height: Height) -> bool {
        let depth = height.blocks_since(self.height);
        self.height.is_genesis() || depth.is_some_and(|depth| depth >= depth_min)
    }
}

/// The effect of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Moves `amount` of the chain's token.
    Payment {
        /// The recipient.
        to: AccountId,
        /// The amount, in the token of the transaction's chain.
        amount: MinorUnits,
        /// A public message, possibly empty.
        message: Vec<u8>,
    },
    /// Lends the sender's whole effective balance for forging (parent chain only).
    Lease {
        /// The lessee.
        to: AccountId,
        /// Length of the lease in blocks, after the lease delay.
        blocks: u32,
    },
    /// A child block: carries transactions of one child chain by their ids (parent chain only; made by bundlers).
    ChildBlock {
        /// The child chain.
        child: ChainId,
        /// Number of carried transactions.
        count: u32,
        /// The Merkle root of their ids, ascending.
        root: Hash,
    },
}

/// A transaction, signed or unsigned. Decoding it does not make it valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The chain whose token is used for amount and fee.
    pub chain: ChainId,
    /// Time of its creation.
    pub time: BlockTimestamp,
    /// How long after `time` blocks may include it.
    pub deadline_minutes: Minutes,
    /// The sender's Ed25519 key.
    pub sender: [u8; 32],
    /// The fee, in the chain's token.
    pub fee: MinorUnits,
    /// The block that it refers to.
    pub anchor: Anchor,
    /// Its effect.
    pub body: Body,
    /// The signature, or zeroes before signing.
    pub signature: [u8; 64],
}

impl Transaction {
    /// Returns the sender's account.
    #[must_use]
    pub fn sender_account(&self) -> AccountId {
        AccountId::of_key(&self.sender)
    }

    /// Returns the hash that id and signature are based on.
    #[must_use]
    pub fn hash(&self, genesis: &Hash) -> Hash {
        Self::hash_of_bytes(&self.to_bytes(), genesis)
    }

    /// Returns the same hash from the encoded transaction with its signature.
    #[must_use]
    pub fn hash_of_bytes(bytes: &[u8], genesis: &Hash) -> Hash {
        // Bytes shorter than a signature do not decode, and have no hash that counts.
        let unsigned = bytes.len().saturating_sub(Signature::LENGTH);
        Hash::of(
            Domain::ChainTransaction,
            &[genesis.as_bytes(), &bytes[..unsigned]],
        )
    }

    /// Returns the id that follows from [`Transaction::hash`].
    #[must_use]
    pub fn id_of(&self, hash: &Hash) -> TxId {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&self.time.to_be_bytes());
        id[4..].copy_from_slice(&hash.as_bytes()[..28]);
        TxId(id)
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self, genesis: &Hash) -> TxId {
        self.id_of(&self.hash(genesis))
    }

    /// Signs the transaction with the sender's key.
    pub fn sign(&mut self, genesis: &Hash, key: &KeyPair) {
        let signature = key.sign(SignatureContext::ChainTransaction, &self.hash(genesis));
        self.signature = *signature.bytes();
    }

    /// Returns the sender's signature with its key, for a check in a batch. `hash` is the result of [`Transaction::hash`].
    #[must_use]
    pub fn signed_message(&self, hash: Hash) -> SignedMessage {
        SignedMessage {
            key: PublicKey::Ed25519(self.sender),
            context: SignatureContext::ChainTransaction,
            message: hash,
            signature: Signature::new(Scheme::Ed25519, self.signature),
        }
    }

    /// Returns the last time of a block that may include it.
    #[must_use]
    pub fn expires(&self) -> BlockTimestamp {
        // No deadline is beyond the last second.
        self.time.plus_or_last(self.deadline_minutes.seconds())
    }

    /// Returns the debit to the sender on its chain, with the fee. `None` if it overflows.
    #[must_use]
    pub fn debit(&self) -> Option<MinorUnits> {
        match self.body {
            Body::Payment { amount, .. } => amount.checked_add(self.fee),
            Body::Lease { .. } | Body::ChildBlock { .. } => Some(self.fee),
        }
    }
}
