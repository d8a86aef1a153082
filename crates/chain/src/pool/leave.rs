//! Removal of transactions without a block, with the reasons.

use super::{Pool, Removal};
use crate::{Anchor, BlockTimestamp, ChainId, Height, TxId};

impl Pool {
    /// Removes transactions whose deadline or wait for a balance is over at `now`. A child block leaves with the first of
    /// its transactions that expires.
    pub fn expire(&mut self, now: BlockTimestamp) {
        while let Some((ends, slot)) = self.ends.first().copied()
            && ends <= now
        {
            let entry = self.slots.get(slot);
            if entry.deadline() > now {
                self.leave(slot, "chain_pool.insufficient_balance");
                continue;
            }
            let (id, chain) = (entry.carried.id, entry.owner().1);
            self.leave(slot, "chain_pool.expired");
            self.leave_carriers(&id, chain, "chain_pool.expired");
        }
    }

    /// Returns the time at which [`Pool::expire`] next has work.
    #[must_use]
    pub fn next_expiry(&self) -> Option<BlockTimestamp> {
        self.ends.first().map(|(ends, _)| *ends)
    }

    /// Removes one transaction for a given reason, a code of [`crate::ERRORS`]. Returns whether it was in the pool.
    pub fn remove(&mut self, id: &TxId, reason: &'static str) -> bool {
        let slot = self.ids.get(id).copied();
        slot.map(|slot| self.leave(slot, reason)).is_some()
    }

    /// Removes all transactions, by an operator's order.
    pub fn clear(&mut self) {
        for slot in self.slots.all() {
            self.leave(slot, "chain_pool.cleared");
        }
    }

    /// Removes the transactions whose anchor lies above `common` and is not on the chain, with the child blocks that carry them.
    /// Anchors at or below the last common block of a reorg stay valid and cost nothing.
    pub fn drop_lost_anchors(
        &mut self,
        common: Height,
        mut is_on_chain: impl FnMut(&Anchor) -> bool,
    ) {
        let Some(first) = common.next() else { return };
        let above = (first, 0)..;
        let above: Vec<u32> = self.anchors.range(above).map(|(_, slot)| *slot).collect();
        let mut lost = Vec::new();
        for slot in above {
            let carried = &self.slots.get(slot).carried;
            if !is_on_chain(&carried.transaction.anchor) {
                lost.push((carried.id, carried.transaction.chain));
            }
        }
        for (id, chain) in lost {
            // It may have left already, with a transaction that it carries.
            self.remove(&id, "chain_pool.anchor_lost");
            self.leave_carriers(&id, chain, "chain_pool.anchor_lost");
        }
    }

    pub(super) fn leave(&mut self, slot: u32, reason: &'static str) {
        let entry = self.unlink(slot);
        let owner = entry.owner();
        let waits = self
            .purses
            .get(&owner)
            .is_some_and(|purse| purse.parked.length > 0);
        if waits && !entry.parked {
            // Its debit may now cover a parked transaction.
            self.unsettled.insert(owner);
        }
        self.left.push(Removal {
            carried: entry.carried,
            reason,
        });
    }

    /// Removes the child blocks of a chain that carry an id.
    pub(super) fn leave_carriers(&mut self, id: &TxId, chain: ChainId, reason: &'static str) {
        if !self.offers.contains_key(&chain) {
            return;
        }
        let carriers: Vec<u32> = self.carriers.of(id).collect();
        for slot in carriers {
            self.leave(slot, reason);
        }
    }
}
