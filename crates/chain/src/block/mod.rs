//! Blocks, made of a body and a header that the forger signs.
//!
//! A body is a list of parent transactions in ascending order of their ids. Each child block is followed by the transactions that
//! it carries, also in ascending order of their ids. The header commits to the ids of the parent transactions, and a child block
//! commits to the ids of those it carries. Signatures of transactions are not committed to. A body with a bad signature therefore
//! discredits its sender and not the block.

mod bytes;
mod carried;

use primitives::{
    Domain, Hash, KeyPair, PublicKey, Scheme, Signature, SignatureContext, SignedMessage,
    merkle_root,
};

use crate::{AccountId, Transaction, TxId};

pub use bytes::{HEADER_BYTES, read_header};
pub use carried::{CarriedBlock, CarriedEntry, read_carried_body};

/// The header of a block, which its forger signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of earlier blocks. Genesis has height 0 and no such header.
    pub height: u32,
    /// Seconds since genesis.
    pub time: u32,
    /// Hash of the previous block, or the genesis hash at height 1.
    pub previous: Hash,
    /// The forger's public key.
    pub forger: [u8; 32],
    /// `SHA-256(the previous block's | forger)`.
    pub generation: Hash,
    /// The base target after this block. A higher one makes hits easier.
    pub base_target: u64,
    /// The cumulative work up to this block.
    pub difficulty: u128,
    /// Number of parent transactions, including child blocks.
    pub parent_count: u32,
    /// Number of transactions that the child blocks carry.
    pub child_count: u32,
    /// Length of the body in bytes.
    pub body_bytes: u32,
    /// The Merkle root of the parent transactions' ids, or [`Hash::ZERO`] for an empty body.
    pub root: Hash,
    /// The forger's signature over [`Header::hash`].
    pub signature: [u8; 64],
}

impl Header {
    /// Returns the block's hash over the genesis hash and the header without its signature.
    #[must_use]
    pub fn hash(&self, genesis: &Hash) -> Hash {
        let bytes = self.to_bytes();
        Hash::of(
            Domain::ChainBlock,
            &[
                genesis.as_bytes(),
                &bytes[..HEADER_BYTES - Signature::LENGTH],
            ],
        )
    }

    /// Signs the header with the forger's key.
    pub fn sign(&mut self, genesis: &Hash, key: &KeyPair) {
        let signature = key.sign(SignatureContext::ChainBlock, &self.hash(genesis));
        self.signature = *signature.bytes();
    }

    /// Returns the signature to check, over [`Header::hash`].
    #[must_use]
    pub fn signed_message(&self, hash: Hash) -> SignedMessage {
        SignedMessage {
            key: PublicKey::Ed25519(self.forger),
            context: SignatureContext::ChainBlock,
            message: hash,
            signature: Signature::new(Scheme::Ed25519, self.signature),
        }
    }

    /// Returns the forger's account.
    #[must_use]
    pub fn forger_account(&self) -> AccountId {
        AccountId::of_key(&self.forger)
    }
}

/// A parent transaction of a body, with the transactions that it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The parent transaction.
    pub transaction: Transaction,
    /// The transactions of a child block. Empty for other transactions.
    pub children: Vec<Transaction>,
}

/// A decoded block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The header.
    pub header: Header,
    /// The body.
    pub body: Vec<Entry>,
}

/// Returns the Merkle root of ids, which must be sorted and distinct.
#[must_use]
pub fn root_of(ids: &[TxId]) -> Hash {
    let leaves: Vec<Hash> = ids.iter().map(TxId::leaf).collect();
    merkle_root(&leaves).unwrap_or(Hash::ZERO)
}
