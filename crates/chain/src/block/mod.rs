//! Blocks: the header, which forgers sign, and the body.
//!
//! A body is a list of parent transactions in ascending order of id, each child block followed by the transactions it carries, in
//! ascending order of id too. The header commits to the ids of the parent transactions; a child block commits to those of its own.
//! Signatures of transactions are not committed to: a body with a bad one says something about who sent it, nothing about the block.

mod bytes;
mod carried;

use primitives::{
    Domain, Hash, KeyPair, PublicKey, Scheme, Signature, SignatureContext, SignedMessage,
    merkle_root,
};

use crate::{AccountId, Transaction, TxId};

pub use bytes::{HEADER_BYTES, read_header};
pub use carried::{CarriedBlock, CarriedEntry, read_carried_body};

/// What a forger signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Blocks before it; genesis stands at 0 and has no header of this kind.
    pub height: u32,
    /// Seconds since genesis.
    pub time: u32,
    /// The block before; the genesis hash at height 1.
    pub previous: Hash,
    /// The forger's key.
    pub forger: [u8; 32],
    /// `SHA-256(the previous block's | forger)`.
    pub generation: Hash,
    /// How easily hits come, after this block.
    pub base_target: u64,
    /// The work of all blocks up to this one.
    pub difficulty: u128,
    /// Parent transactions, child blocks among them.
    pub parent_count: u32,
    /// Transactions that the child blocks carry.
    pub child_count: u32,
    /// Bytes of the body.
    pub body_bytes: u32,
    /// The Merkle root of the parent transactions' ids; [`Hash::ZERO`] for none.
    pub root: Hash,
    /// The forger's signature over [`Header::hash`].
    pub signature: [u8; 64],
}

impl Header {
    /// The block's hash: of the network and the header without its signature.
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

    /// Signs it with the forger's key.
    pub fn sign(&mut self, genesis: &Hash, key: &KeyPair) {
        let signature = key.sign(SignatureContext::ChainBlock, &self.hash(genesis));
        self.signature = *signature.bytes();
    }

    /// The signature to check, over [`Header::hash`].
    #[must_use]
    pub fn signed_message(&self, hash: Hash) -> SignedMessage {
        SignedMessage {
            key: PublicKey::Ed25519(self.forger),
            context: SignatureContext::ChainBlock,
            message: hash,
            signature: Signature::new(Scheme::Ed25519, self.signature),
        }
    }

    /// The forger's account.
    #[must_use]
    pub fn forger_account(&self) -> AccountId {
        AccountId::of_key(&self.forger)
    }
}

/// One parent transaction of a body, with what it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The parent transaction.
    pub transaction: Transaction,
    /// A child block's transactions; of others none.
    pub children: Vec<Transaction>,
}

/// A block as carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The header.
    pub header: Header,
    /// The body.
    pub body: Vec<Entry>,
}

/// The root over ids, which are sorted and different.
#[must_use]
pub fn root_of(ids: &[TxId]) -> Hash {
    let leaves: Vec<Hash> = ids.iter().map(TxId::leaf).collect();
    merkle_root(&leaves).unwrap_or(Hash::ZERO)
}
