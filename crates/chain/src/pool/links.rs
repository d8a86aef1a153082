//! Entries and their indexes. Each transaction enters and leaves all indexes together.

use std::sync::Arc;

use super::entry::{Carrier, Entry, Turn, debit_of};
use super::purse::NO_SLOT;
use super::{ChildBlock, Pool};
use crate::{BlockTimestamp, Carried, ChainId, TxId};

/// An end of a sender's line.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// The beginning, for a transaction that was in a block.
    First,
    /// The end, for a new transaction.
    Last,
}

impl Pool {
    /// Adds a ready transaction to all indexes, at the given end of its sender's line.
    pub(super) fn link(&mut self, carried: Arc<Carried>, turn: Turn, end: End) -> u32 {
        let chain = carried.transaction.chain;
        *self.senders.entry(carried.sender).or_default() += 1;
        self.transactions += 1;
        self.bytes += carried.bytes as usize;
        self.lanes.entry(chain).or_default().bytes += carried.bytes as usize;
        self.link_entry(carried, turn, end, None)
    }

    /// Adds a ready child block to all indexes.
    pub(super) fn link_child_block(&mut self, block: Arc<ChildBlock>, turn: Turn, end: End) {
        let lacking = self.lacking_of(&block);
        let carrier = Carrier {
            block: block.clone(),
            // A child block carries at most a message of ids.
            lacking: u32::try_from(lacking).expect("a list has at most 32 bits of ids"),
        };
        let slot = self.link_entry(block.transaction().clone(), turn, end, Some(carrier));
        for id in block.ids() {
            self.carriers.add(*id, slot);
        }
        self.offers
            .entry(block.child())
            .or_default()
            .add(&block, turn, slot);
    }

    fn link_entry(
        &mut self,
        carried: Arc<Carried>,
        turn: Turn,
        end: End,
        carrier: Option<Carrier>,
    ) -> u32 {
        let (id, anchor) = (carried.id, carried.transaction.anchor.height);
        let mut entry = Entry {
            debit: debit_of(&carried),
            carried,
            turn,
            ends: BlockTimestamp::GENESIS,
            parked: false,
            neighbours: (NO_SLOT, NO_SLOT),
            carrier,
        };
        entry.ends = entry.deadline();
        let ends = entry.ends;
        self.chains.insert(entry.owner().1);
        let slot = self.slots.put(entry);
        self.ids.insert(id, slot);
        if self.slots.get(slot).carrier.is_none() {
            self.pages.insert(id, slot);
        }
        self.ends.insert((ends, slot));
        if !anchor.is_genesis() {
            self.anchors.insert((anchor, slot));
        }
        self.enter_orders(slot, false, end);
        slot
    }

    /// Removes a transaction from all indexes.
    pub(super) fn unlink(&mut self, slot: u32) -> Entry {
        self.leave_orders(slot);
        let entry = self.slots.take(slot);
        self.ids.remove(&entry.carried.id);
        self.pages.remove(&entry.carried.id);
        self.ends.remove(&(entry.ends, slot));
        let anchor = entry.carried.transaction.anchor.height;
        self.anchors.remove(&(anchor, slot));
        if let Some(carrier) = &entry.carrier {
            for id in carrier.block.ids() {
                self.carriers.remove(id, slot);
            }
            self.drop_offer(&carrier.block, entry.turn);
        } else {
            self.transactions -= 1;
            self.bytes -= entry.carried.bytes as usize;
            if let Some(lane) = self.lanes.get_mut(&entry.carried.transaction.chain) {
                lane.bytes -= entry.carried.bytes as usize;
            }
            if let Some(count) = self.senders.get_mut(&entry.carried.sender) {
                *count -= 1;
                if *count == 0 {
                    self.senders.remove(&entry.carried.sender);
                }
            }
        }
        entry
    }

    /// Parks a ready transaction or makes a parked one ready. `ends` is the time at which it then leaves. Parked transactions
    /// are examined in their order of arrival: one that is parked later arrived earlier.
    pub(super) fn set_parked(&mut self, slot: u32, parked: bool, ends: BlockTimestamp) {
        self.leave_orders(slot);
        let entry = self.slots.get_mut(slot);
        self.ends.remove(&(entry.ends, slot));
        entry.ends = ends;
        self.ends.insert((ends, slot));
        let end = if parked { End::First } else { End::Last };
        self.enter_orders(slot, parked, end);
    }

    /// Adds an entry to the orders of ready or of parked transactions.
    fn enter_orders(&mut self, slot: u32, parked: bool, end: End) {
        let entry = self.slots.get_mut(slot);
        entry.parked = parked;
        let (turn, owner) = (entry.turn, entry.owner());
        let (id, debit) = (entry.carried.id, entry.debit);
        let plain = entry.carrier.is_none();
        if plain {
            self.lanes
                .entry(owner.1)
                .or_default()
                .of(parked)
                .insert(turn, slot);
        }
        let purse = self.purses.entry(owner).or_default();
        match end {
            End::First => purse.line(parked).push_first(&mut self.slots, slot),
            End::Last => purse.line(parked).push_last(&mut self.slots, slot),
        }
        if parked {
            self.parked += 1;
        } else {
            purse.pending += debit.get_u128();
            self.carried_became(&id, owner.1, true);
        }
    }

    /// Removes an entry from its orders.
    fn leave_orders(&mut self, slot: u32) {
        let entry = self.slots.get(slot);
        let (turn, parked, owner) = (entry.turn, entry.parked, entry.owner());
        let (id, debit) = (entry.carried.id, entry.debit);
        if entry.carrier.is_none()
            && let Some(lane) = self.lanes.get_mut(&owner.1)
        {
            lane.of(parked).remove(&turn);
        }
        if let Some(purse) = self.purses.get_mut(&owner) {
            purse.line(parked).remove(&mut self.slots, slot);
            if parked {
                self.parked -= 1;
            } else {
                purse.pending -= debit.get_u128();
            }
            if purse.is_empty() {
                self.purses.remove(&owner);
                self.unsettled.remove(&owner);
            }
        }
        if !parked {
            self.carried_became(&id, owner.1, false);
        }
    }

    /// Updates the number of lacking transactions in the child blocks that carry a transaction.
    fn carried_became(&mut self, id: &TxId, chain: ChainId, ready: bool) {
        if !self.offers.contains_key(&chain) {
            return;
        }
        for slot in self.carriers.of(id) {
            if let Some(carrier) = &mut self.slots.get_mut(slot).carrier
                && carrier.block.child() == chain
            {
                if ready {
                    carrier.lacking -= 1;
                } else {
                    carrier.lacking += 1;
                }
            }
        }
    }
}
