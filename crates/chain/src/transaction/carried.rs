//! A transaction together with what is computed of it once.

use primitives::{Domain, Hash, Signature, SignedMessage};

use super::{Transaction, TxId, read};
use crate::{AccountId, Rejection};

/// A transaction with its hash, id, sender and length: what pool, blocks and state ask for again and again. Hold it in an `Arc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The transaction.
    pub transaction: Transaction,
    /// [`Transaction::hash`] in this network.
    pub hash: Hash,
    /// Its id.
    pub id: TxId,
    /// The sender's account.
    pub sender: AccountId,
    /// Length of its bytes.
    pub bytes: u32,
}

impl Carried {
    /// Of a transaction of the network with this genesis.
    #[must_use]
    pub fn new(genesis: &Hash, transaction: Transaction) -> Self {
        let bytes = transaction.to_bytes();
        Self::of(genesis, transaction, &bytes)
    }

    /// Reads the transaction that `bytes` begin with, and says how long it is.
    pub fn read(genesis: &Hash, bytes: &[u8]) -> Result<(Self, usize), Rejection> {
        let (transaction, used) = read(bytes)?;
        Ok((Self::of(genesis, transaction, &bytes[..used]), used))
    }

    /// `bytes` are the transaction's own: what is read is written the same.
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

    /// The signature to check.
    #[must_use]
    pub fn signed_message(&self) -> SignedMessage {
        self.transaction.signed_message(self.hash)
    }
}
