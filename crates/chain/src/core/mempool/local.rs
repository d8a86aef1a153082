//! Rows of locally accepted transactions, and the update of the pool after a change of the chain.

use crate::core::Core;
use crate::port::{Reads, StoreFailure, Table};
use crate::transaction::Carried;
use crate::{Height, TxId};

impl<R: Reads<Table>> Core<R> {
    /// Makes a transaction of the pool durable.
    pub(in crate::core) fn keep_local(&mut self, carried: &Carried) {
        self.local.put(&mut self.rows, carried);
    }

    /// Lets the pool check the accounts that blocks have changed.
    pub(in crate::core) fn settle_pool(&mut self) -> Result<(), StoreFailure> {
        let (rows, now) = (&self.rows, self.timestamp_now());
        let mut balances = |account: crate::AccountId, chain| rows.balance(&account, chain);
        self.pool.settle(now, &mut balances)
    }

    /// Deletes the row of a transaction that is in a block or has left the pool.
    pub(in crate::core) fn forget_local(&mut self, id: &TxId) {
        self.local.remove(&mut self.rows, id);
    }

    /// Removes transactions from the pool that refer to blocks above `common` that are no longer on the chain. This is done at
    /// every depth: after a reorg to a shorter branch, the next one may be shallower than the youngest allowed anchor.
    pub(in crate::core) fn drop_lost_anchors(
        &mut self,
        common: Height,
    ) -> Result<(), StoreFailure> {
        let rows = &self.rows;
        let mut failure = None;
        self.pool
            .drop_lost_anchors(common, |anchor| match rows.hash_at(anchor.height) {
                Ok(hash) => hash.is_some_and(|hash| hash.as_bytes()[..8] == anchor.id),
                Err(error) => {
                    failure = Some(error);
                    true
                }
            });
        failure.map_or(Ok(()), Err)
    }
}
