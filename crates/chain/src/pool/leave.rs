//! Who leaves without a block, and why.

use super::{Left, Pool};
use crate::{Anchor, ChainId, TxId};

impl Pool {
    /// Takes out whose deadline is over at second `now`, and who has waited for a balance long enough. A child block leaves with the
    /// first of its transactions.
    pub fn expire(&mut self, now: u32) {
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

    /// The second at which [`Pool::expire`] next has something to do.
    #[must_use]
    pub fn next_expiry(&self) -> Option<u32> {
        self.ends.first().map(|(ends, _)| *ends)
    }

    /// Takes out one transaction for a reason of the caller's, a code of [`crate::ERRORS`]; whether it was here.
    pub fn remove(&mut self, id: &TxId, reason: &'static str) -> bool {
        let slot = self.ids.get(id).copied();
        slot.map(|slot| self.leave(slot, reason)).is_some()
    }

    /// Takes out everything: an operator's order.
    pub fn clear(&mut self) {
        for slot in self.slots.all() {
            self.leave(slot, "chain_pool.cleared");
        }
    }

    /// Takes out the transactions whose anchor lies above `common` and is not on the chain, with the child blocks that carry them. Costs
    /// nothing for the anchors at or below the last common block of a change of branch: those stand.
    pub fn drop_lost_anchors(&mut self, common: u32, mut is_on_chain: impl FnMut(&Anchor) -> bool) {
        let above = (common.saturating_add(1), 0)..;
        let above: Vec<u32> = self.anchors.range(above).map(|(_, slot)| *slot).collect();
        let mut lost = Vec::new();
        for slot in above {
            let carried = &self.slots.get(slot).carried;
            if !is_on_chain(&carried.transaction.anchor) {
                lost.push((carried.id, carried.transaction.chain));
            }
        }
        for (id, chain) in lost {
            // It may have left with a transaction that it carries.
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
            // What it would have spent may cover a parked one.
            self.unsettled.insert(owner);
        }
        self.left.push(Left {
            carried: entry.carried,
            reason,
        });
    }

    /// The child blocks that carry an id of a chain leave.
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
