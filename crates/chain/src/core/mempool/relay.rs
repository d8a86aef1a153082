//! Gossip of transactions: of new ones in batches, and again after a reorg or a long wait.

use crate::ChainTime;
use crate::core::Core;
use crate::core::limits::{REGOSSIP_STEP, REPEAT_AGE, REPEAT_STEP};
use crate::port::{Reads, StoreFailure, Table};
use crate::transaction::Carried;

impl<R: Reads<Table>> Core<R> {
    /// Gossips a transaction to all peers, in a batch with others.
    pub(in crate::core) fn gossip_transaction(
        &mut self,
        carried: &Carried,
    ) -> Result<(), StoreFailure> {
        let chain = carried.transaction.chain;
        if chain.is_child() && carried.transaction.fee < self.fee_least(chain)? {
            // Only a bundler of this node carries it. Other nodes fetch it with the child block.
            return Ok(());
        }
        let full = self.gossip_batch.add(&carried.transaction, self.now);
        self.actions.extend(full);
        Ok(())
    }

    pub(in crate::core) fn relay_if_due(&mut self) {
        let due = self.gossip_batch.due();
        if due.is_some_and(|due| due <= self.now) {
            self.actions.extend(self.gossip_batch.take());
        }
    }

    /// Gossips locally accepted transactions again that have waited long.
    pub(super) fn regossip_local(&mut self) {
        if !self.regossip.is_empty() {
            return;
        }
        // In the first seconds no transaction is old.
        let before = self.timestamp_now().minus_or_genesis(REPEAT_AGE);
        self.regossip
            .extend(self.local.older_than(before).take(REPEAT_STEP));
    }

    /// Gossips the transactions again that a reorg has put back, a batch at a time.
    pub(in crate::core) fn regossip_step(&mut self) -> Result<(), StoreFailure> {
        if self.regossip.is_empty() || !self.gossip_batch.is_empty() {
            return Ok(());
        }
        for _ in 0..REGOSSIP_STEP {
            let Some(id) = self.regossip.pop_front() else {
                return Ok(());
            };
            if self.pool.child_block(&id).is_some() {
                continue;
            }
            if let Some(carried) = self.pool.get(&id).cloned() {
                self.gossip_transaction(&carried)?;
            }
        }
        Ok(())
    }

    pub(in crate::core) fn regossip_due(&self) -> Option<ChainTime> {
        let waits = self.gossip_batch.due();
        // Without a batch that waits, the next one begins at once.
        (!self.regossip.is_empty()).then(|| waits.unwrap_or(self.now))
    }
}
