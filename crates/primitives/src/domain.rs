//! Hashing within domains, which keep hashes of different things apart.

use crate::hasher::hash_parts;
use crate::{Hash, Hasher};

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

impl Hash {
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
}
