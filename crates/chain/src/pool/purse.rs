//! The pool's data of an account on a chain.

use super::entry::Slots;

/// Stands for no slot.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// A doubly linked list of entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) length: u32,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            first: NO_SLOT,
            last: NO_SLOT,
            length: 0,
        }
    }
}

impl Line {
    pub(super) fn push_last(&mut self, slots: &mut Slots, slot: u32) {
        let before = std::mem::replace(&mut self.last, slot);
        slots.get_mut(slot).neighbours = (before, NO_SLOT);
        match before {
            NO_SLOT => self.first = slot,
            before => slots.get_mut(before).neighbours.1 = slot,
        }
        self.length += 1;
    }

    pub(super) fn push_first(&mut self, slots: &mut Slots, slot: u32) {
        let after = std::mem::replace(&mut self.first, slot);
        slots.get_mut(slot).neighbours = (NO_SLOT, after);
        match after {
            NO_SLOT => self.last = slot,
            after => slots.get_mut(after).neighbours.0 = slot,
        }
        self.length += 1;
    }

    pub(super) fn remove(&mut self, slots: &mut Slots, slot: u32) {
        let (before, after) = slots.get(slot).neighbours;
        match before {
            NO_SLOT => self.first = after,
            before => slots.get_mut(before).neighbours.1 = after,
        }
        match after {
            NO_SLOT => self.last = before,
            after => slots.get_mut(after).neighbours.0 = before,
        }
        self.length -= 1;
    }

    /// From the last entry to the first.
    pub(super) fn iter_back(self, slots: &Slots) -> impl Iterator<Item = u32> {
        let some = |slot| (slot != NO_SLOT).then_some(slot);
        std::iter::successors(some(self.last), move |slot| {
            some(slots.get(*slot).neighbours.0)
        })
    }

    pub(super) fn iter(self, slots: &Slots) -> impl Iterator<Item = u32> {
        let some = |slot| (slot != NO_SLOT).then_some(slot);
        std::iter::successors(some(self.first), move |slot| {
            some(slots.get(*slot).neighbours.1)
        })
    }
}

/// An account's transactions on a chain, in the order of arrival. If the balance no longer covers them all, transactions that no
/// child block lists are parked first, beginning with the last one.
#[derive(Debug, Default)]
pub(super) struct Purse {
    /// The debit of the ready transactions, in minor units. 2^32 debits of 64 bits fit into 128 bits.
    pub(super) pending: u128,
    pub(super) ready: Line,
    pub(super) parked: Line,
}

impl Purse {
    pub(super) fn line(&mut self, parked: bool) -> &mut Line {
        if parked {
            &mut self.parked
        } else {
            &mut self.ready
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ready.length + self.parked.length == 0
    }
}
