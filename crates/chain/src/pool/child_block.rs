//! A child block on its way: the parent transaction, and which transactions it carries.

use std::sync::Arc;

use crate::block::root_of;
use crate::transaction::Body;
use crate::{Carried, ChainId, Rejection, TxId};

/// A child block with its list. The list fits the transaction: count and root were compared.
#[derive(Debug, PartialEq, Eq)]
pub struct ChildBlock {
    transaction: Arc<Carried>,
    child: ChainId,
    ids: Vec<TxId>,
}

impl ChildBlock {
    /// Of a child block and the ids it carries, ascending.
    pub fn new(transaction: Arc<Carried>, ids: Vec<TxId>) -> Result<Self, Rejection> {
        let wrong = |detail: String| Rejection::new("chain_pool.wrong_list", detail);
        let Body::ChildBlock { child, count, root } = transaction.transaction.body else {
            return Err(wrong("the transaction is no child block".into()));
        };
        if ids.len() != count as usize {
            let detail = format!("{} ids for a child block of {count}", ids.len());
            return Err(wrong(detail));
        }
        if !ids.is_sorted_by(|one, next| one < next) {
            return Err(wrong("the ids do not ascend".into()));
        }
        if root_of(&ids) != root {
            return Err(wrong("the ids do not lead to its root".into()));
        }
        Ok(Self {
            transaction,
            child,
            ids,
        })
    }

    /// Of one just made: the transaction was made of the list.
    pub(crate) fn made(transaction: Arc<Carried>, child: ChainId, ids: Vec<TxId>) -> Self {
        Self {
            transaction,
            child,
            ids,
        }
    }

    /// The parent transaction.
    #[must_use]
    pub fn transaction(&self) -> &Arc<Carried> {
        &self.transaction
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> TxId {
        self.transaction.id
    }

    /// The child chain.
    #[must_use]
    pub fn child(&self) -> ChainId {
        self.child
    }

    /// What it carries, ascending.
    #[must_use]
    pub fn ids(&self) -> &[TxId] {
        &self.ids
    }

    /// What the forger gets.
    #[must_use]
    pub fn fee(&self) -> u64 {
        self.transaction.transaction.fee
    }
}
