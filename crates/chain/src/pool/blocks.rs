//! Updates for blocks that join the chain or are rolled back.

use std::sync::Arc;

use super::entry::Turn;
use super::insert::{refused_as_known, turn_of};
use super::links::End;
use super::{ChildBlock, Pool, Removal};
use crate::block::{CarriedBlock, CarriedEntry};
use crate::transaction::Body;
use crate::{AccountId, BlockTimestamp, Carried, ChainId, Rejection};

impl Pool {
    /// Handles a block that joined the chain. Removes its transactions and the other child blocks that carry one of them. Marks
    /// accounts as unsettled if the block debited them by transactions that the pool did not count, or credited them while they
    /// have parked transactions.
    pub fn block_added(&mut self, block: &CarriedBlock) {
        for carried in block.transactions() {
            let counted = match self.ids.get(&carried.id).copied() {
                Some(slot) => !self.unlink(slot).parked,
                None => false,
            };
            if !counted {
                self.unsettle((carried.sender, carried.transaction.chain));
            }
        }
        // The block's own child blocks are removed by now. Any remaining child block that shares a transaction with them is
        // superseded.
        for carried in block.body.iter().flat_map(|entry| &entry.children) {
            let chain = carried.transaction.chain;
            self.leave_carriers(&carried.id, chain, "chain_pool.superseded");
        }
        if self.parked > 0 {
            for owner in credited(block) {
                let purse = self.purses.get(&owner);
                if purse.is_some_and(|purse| purse.parked.length > 0) {
                    self.unsettle(owner);
                }
            }
        }
    }

    /// Handles the rollback of the last block at `now`. Its transactions wait again, before all others with the same fee
    /// rate, in the block's order. The accounts that it credited become unsettled. Transactions without room leave as evicted.
    pub fn block_popped(&mut self, block: &CarriedBlock, now: BlockTimestamp) {
        // Insert from the last one, each at the beginning, to keep the block's order.
        for entry in block.body.iter().rev() {
            for child in entry.children.iter().rev() {
                let outcome = self.take_back(child, now);
                self.not_taken_back(child, outcome);
            }
            let outcome = if matches!(entry.transaction.transaction.body, Body::ChildBlock { .. }) {
                self.take_child_block_back(entry, now)
            } else {
                self.take_back(&entry.transaction, now)
            };
            self.not_taken_back(&entry.transaction, outcome);
        }
        for owner in credited(block) {
            self.unsettle(owner);
        }
    }

    /// Puts a transaction back, regardless of its sender's count, because it was in a block.
    fn take_back(&mut self, carried: &Arc<Carried>, now: BlockTimestamp) -> Result<(), Rejection> {
        refused_as_known(self, carried, now)?;
        let turn = self.turn_at_beginning(carried);
        let victims = self
            .evictions_for(carried, turn)
            .map_err(|full| Rejection::new("chain_pool.evicted", full.detail))?;
        self.evict(victims);
        self.link(carried.clone(), turn, End::First);
        Ok(())
    }

    fn take_child_block_back(
        &mut self,
        entry: &CarriedEntry,
        now: BlockTimestamp,
    ) -> Result<(), Rejection> {
        let ids = entry.children.iter().map(|child| child.id).collect();
        let block = Arc::new(ChildBlock::new(entry.transaction.clone(), ids)?);
        refused_as_known(self, block.transaction(), now)?;
        let victims = self
            .room_for_child_block(&block)
            .map_err(|full| Rejection::new("chain_pool.superseded", full.detail))?;
        for slot in victims {
            self.leave(slot, "chain_pool.superseded");
        }
        let turn = self.turn_at_beginning(block.transaction());
        self.link_child_block(block, turn, End::First);
        Ok(())
    }

    fn turn_at_beginning(&mut self, carried: &Carried) -> Turn {
        self.first_place -= 1;
        turn_of(carried, self.first_place)
    }

    /// Records a transaction that could not be put back as left, with its reason.
    fn not_taken_back(&mut self, carried: &Arc<Carried>, outcome: Result<(), Rejection>) {
        if let Err(rejection) = outcome
            && !self.contains(&carried.id)
        {
            // Its debit returns to the sender and may cover a parked transaction.
            self.unsettle((carried.sender, carried.transaction.chain));
            self.left.push(Removal {
                carried: carried.clone(),
                reason: rejection.code,
            });
        }
    }

    /// Marks an account for the next [`Pool::settle`], if it has transactions in the pool.
    fn unsettle(&mut self, owner: (AccountId, ChainId)) {
        if self.purses.contains_key(&owner) {
            self.unsettled.insert(owner);
        }
    }
}

/// Returns the accounts and chains that a block credited: recipients, bundlers with child fees, and the forger with parent fees.
fn credited(block: &CarriedBlock) -> impl Iterator<Item = (AccountId, ChainId)> {
    let forger = (block.header.forger_account(), ChainId::PARENT);
    block
        .transactions()
        .filter_map(|carried| match carried.transaction.body {
            Body::Payment { to, .. } => Some((to, carried.transaction.chain)),
            Body::ChildBlock { child, .. } => Some((carried.sender, child)),
            Body::Lease { .. } => None,
        })
        .chain([forger])
}
