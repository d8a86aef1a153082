//! The checked form of a transaction that the node's parts share.

use primitives::Hash;

use crate::transaction::read;
use crate::{AccountId, Rejection, Transaction, TxId};

/// A transaction with what is asked of it again and again, made once and then shared behind an `Arc`.
///
/// # Correctness
/// It says nothing about validity: whoever puts it into a pool has checked the signature and the rules that need no balance.
#[derive(Debug, PartialEq, Eq)]
pub struct Signed {
    /// The transaction.
    pub transaction: Transaction,
    /// Its id.
    pub id: TxId,
    /// What its signature is over.
    pub hash: Hash,
    /// The sender's account.
    pub sender: AccountId,
    /// Bytes, signature included.
    pub length: u32,
    /// What it takes from the sender, fee included.
    pub debit: u64,
    /// When it came to this node, in milliseconds since genesis.
    pub arrived_ms: u64,
}

impl Signed {
    /// Of a transaction; an amount that nobody can have is refused.
    pub fn new(
        transaction: Transaction,
        genesis: &Hash,
        arrived_ms: u64,
    ) -> Result<Self, Rejection> {
        let bytes = transaction.to_bytes();
        Self::of_bytes(transaction, &bytes, genesis, arrived_ms)
    }

    /// Reads the transaction that `bytes` begin with, and says how long it is: nothing is encoded anew for its id.
    pub fn read(bytes: &[u8], genesis: &Hash, arrived_ms: u64) -> Result<(Self, usize), Rejection> {
        let (transaction, used) = read(bytes)?;
        let signed = Self::of_bytes(transaction, &bytes[..used], genesis, arrived_ms)?;
        Ok((signed, used))
    }

    fn of_bytes(
        transaction: Transaction,
        bytes: &[u8],
        genesis: &Hash,
        arrived_ms: u64,
    ) -> Result<Self, Rejection> {
        let debit = transaction.debit().ok_or_else(|| {
            Rejection::new(
                "chain_pool.insufficient_balance",
                "amount and fee together are more than any account can hold",
            )
        })?;
        let hash = Transaction::hash_of_bytes(bytes, genesis);
        Ok(Self {
            id: transaction.id_of(&hash),
            hash,
            sender: transaction.sender_account(),
            length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            debit,
            arrived_ms,
            transaction,
        })
    }
}
