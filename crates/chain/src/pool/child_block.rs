//! A child block: its parent transaction and the list of the transactions that it carries.

use std::sync::Arc;

use crate::block::root_of;
use crate::transaction::Body;
use crate::{Carried, ChainId, MinorUnits, Rejection, TxId};

/// A child block with its list. Count and root of the list match the transaction.
#[derive(Debug, PartialEq, Eq)]
pub struct ChildBlock {
    transaction: Arc<Carried>,
    child: ChainId,
    ids: Vec<TxId>,
}

impl ChildBlock {
    /// Combines a child block with the ids that it carries, ascending. Checks that they match.
    pub fn new(transaction: Arc<Carried>, ids: Vec<TxId>) -> Result<Self, Rejection> {
        let wrong = |detail: String| Rejection::new("chain_pool.wrong_list", detail);
        let Body::ChildBlock { child, count, root } = transaction.transaction.body else {
            return Err(wrong("the transaction is not a child block".into()));
        };
        if ids.len() != count as usize {
            let detail = format!("{} ids, expected {count}", ids.len());
            return Err(wrong(detail));
        }
        if !ids.is_sorted_by(|one, next| one < next) {
            return Err(wrong("the ids are not in ascending order".into()));
        }
        if root_of(&ids) != root {
            return Err(wrong("the ids do not match its Merkle root".into()));
        }
        Ok(Self {
            transaction,
            child,
            ids,
        })
    }

    /// Combines a new child block with the list that it was made from.
    pub(crate) fn made(transaction: Arc<Carried>, child: ChainId, ids: Vec<TxId>) -> Self {
        Self {
            transaction,
            child,
            ids,
        }
    }

    /// Returns the parent transaction.
    #[must_use]
    pub fn transaction(&self) -> &Arc<Carried> {
        &self.transaction
    }

    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> TxId {
        self.transaction.id
    }

    /// Returns the child chain.
    #[must_use]
    pub fn child(&self) -> ChainId {
        self.child
    }

    /// Returns the ids of the transactions that it carries, ascending.
    #[must_use]
    pub fn ids(&self) -> &[TxId] {
        &self.ids
    }

    /// Returns the fee that the forger earns, in the parent token.
    #[must_use]
    pub fn fee(&self) -> MinorUnits {
        self.transaction.transaction.fee
    }
}
