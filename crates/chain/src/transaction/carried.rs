//! A transaction with its computed values.

use primitives::{Domain, Hash, Signature, SignedMessage};

use super::{Transaction, TxId, read};
use crate::{AccountId, Rejection};

/// A transaction with its hash, id, sender and length, which pool, blocks and state use repeatedly. Hold it in an `Arc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The transaction.
    pub transaction: Transaction,
    /// The result of [`Transaction::hash`] in this network.
    pub hash: Hash,
    /// Its id.
    pub id: TxId,
    /// The sender's account.
    pub sender: AccountId,
    /// Length of the encoded transaction.
    pub bytes: u32,
}

impl Carried {
    /// Computes the values of a transaction in the network with this genesis hash.
    #[must_use]
    pub fn new(genesis: &Hash, transaction: Transaction) -> Self {
        let bytes = transaction.to_bytes();
        Self::of(genesis, transaction, &bytes)
    }

    /// Decodes the transaction at the beginning of `bytes`, and returns its length.
    pub fn read(genesis: &Hash, bytes: &[u8]) -> Result<(Self, usize), Rejection> {
        let (transaction, used) = read(bytes)?;
        Ok((Self::of(genesis, transaction, &bytes[..used]), used))
    }

    /// `bytes` must be the transaction's encoding, which is unique.
    fn of(genesis: &Hash, transaction: Transaction, bytes: &[u8]) -> Self {
        let unsigned = &bytes[..bytes.len() - Signature::LENGTH];
        let hash = Hash::of(Domain::ChainTransaction, &[genesis.as_bytes(), unsigned]);
        Self {
            id: transaction.id_of(&hash),
            sender: transaction.sender_account(),
            hash,
            bytes: bytes.len() as u32,
            transaction,
        }
    }

    /// Returns the sender's signature with its key and hash, for a check in a batch.
    #[must_use]
    pub fn signed_message(&self) -> SignedMessage {
        self.transaction.signed_message(self.hash)
    }
}
