//! The body of a decoded block.

use primitives::{Hash, merkle_root};

use super::Header;
use crate::{Transaction, TxId};

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
    // A body without transactions has the zero hash.
    merkle_root(&leaves).unwrap_or(Hash::ZERO)
}
