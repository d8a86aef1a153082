//! A block with the computed values of its transactions, such as ids and lengths.

use std::sync::Arc;

use primitives::Hash;

use super::{Block, Entry, Header, root_of};
use crate::transaction::{Body, Carried, PAYMENT_BYTES};
use crate::{Rejection, TxId};

/// A parent transaction of a body, with the transactions that it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedEntry {
    /// The parent transaction.
    pub transaction: Arc<Carried>,
    /// The transactions of a child block, ascending by id. Empty for other transactions.
    pub children: Vec<Arc<Carried>>,
}

/// A block with its hash and its transactions' ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedBlock {
    /// The header.
    pub header: Header,
    /// The result of [`Header::hash`].
    pub hash: Hash,
    /// The body.
    pub body: Vec<CarriedEntry>,
}

impl CarriedBlock {
    /// Combines a header and a body, and computes the hash.
    #[must_use]
    pub fn new(genesis: &Hash, header: Header, body: Vec<CarriedEntry>) -> Self {
        let hash = header.hash(genesis);
        Self { header, hash, body }
    }

    /// Computes the hash and the transactions' ids of a decoded block.
    #[must_use]
    pub fn of(genesis: &Hash, block: Block) -> Self {
        let carry = |transaction| Arc::new(Carried::new(genesis, transaction));
        let body = block
            .body
            .into_iter()
            .map(
                |Entry {
                     transaction,
                     children,
                 }| CarriedEntry {
                    transaction: carry(transaction),
                    children: children.into_iter().map(carry).collect(),
                },
            )
            .collect();
        Self::new(genesis, block.header, body)
    }

    /// Returns all transactions in the order of the body.
    pub fn transactions(&self) -> impl Iterator<Item = &Arc<Carried>> {
        self.body
            .iter()
            .flat_map(|entry| std::iter::once(&entry.transaction).chain(&entry.children))
    }

    /// Returns the Merkle root of the parent transactions' ids, as in the header.
    #[must_use]
    pub fn root(&self) -> Hash {
        let ids: Vec<TxId> = self.body.iter().map(|entry| entry.transaction.id).collect();
        root_of(&ids)
    }

    /// Encodes the body.
    #[must_use]
    pub fn body_bytes(&self) -> Vec<u8> {
        let length = self.transactions().map(|carried| carried.bytes as usize);
        let mut bytes = Vec::with_capacity(length.sum());
        for carried in self.transactions() {
            carried.transaction.write(&mut bytes);
        }
        bytes
    }
}

/// Decodes a body that must end with the bytes, with at most `transactions_max` transactions of all chains.
pub fn read_carried_body(
    genesis: &Hash,
    bytes: &[u8],
    transactions_max: usize,
) -> Result<Vec<CarriedEntry>, Rejection> {
    let mut rest = bytes;
    let mut left = transactions_max.min(bytes.len() / PAYMENT_BYTES);
    let mut next = |rest: &mut &[u8]| -> Result<Arc<Carried>, Rejection> {
        left = left
            .checked_sub(1)
            .ok_or_else(|| malformed("more transactions than a block may have"))?;
        let (carried, used) = Carried::read(genesis, rest)?;
        *rest = &rest[used..];
        Ok(Arc::new(carried))
    };
    let mut body = Vec::new();
    while !rest.is_empty() {
        let transaction = next(&mut rest)?;
        let count = match transaction.transaction.body {
            Body::ChildBlock { count, .. } => count as usize,
            _ => 0,
        };
        if count > rest.len() / PAYMENT_BYTES {
            return Err(malformed(
                "a child block counts more transactions than follow it",
            ));
        }
        let children = (0..count)
            .map(|_| next(&mut rest))
            .collect::<Result<_, _>>()?;
        body.push(CarriedEntry {
            transaction,
            children,
        });
    }
    Ok(body)
}

fn malformed(detail: &str) -> Rejection {
    Rejection::new("chain_block.malformed", detail)
}
