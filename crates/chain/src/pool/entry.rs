//! The pool's entry of a transaction, and the order of entries.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{ChildBlock, FeeRate};
use crate::{AccountId, BlockTimestamp, Carried, ChainId, MinorUnits};

/// A position in the order of a chain: greater fee rates first, and earlier arrival among equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    rate: Reverse<FeeRate>,
    place: i64,
}

impl Turn {
    pub(super) fn new(rate: FeeRate, place: i64) -> Self {
        Self {
            rate: Reverse(rate),
            place,
        }
    }

    pub(super) fn rate(self) -> FeeRate {
        self.rate.0
    }

    pub(super) fn place(self) -> i64 {
        self.place
    }
}

/// Returns a transaction's debit to its sender. If the debit overflows, returns a value that no account can cover.
pub(super) fn debit_of(carried: &Carried) -> MinorUnits {
    carried.transaction.debit().unwrap_or(MinorUnits::MAX)
}

/// A transaction in the pool.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) carried: Arc<Carried>,
    pub(super) turn: Turn,
    /// The debit to its sender.
    pub(super) debit: MinorUnits,
    /// The time at which it leaves, because its deadline or its wait for a balance ends.
    pub(super) ends: BlockTimestamp,
    /// Whether its sender's balance does not cover it now. It is not included in blocks then.
    pub(super) parked: bool,
    /// The previous and the next entry in its sender's line.
    pub(super) neighbours: (u32, u32),
    /// The child block with its list, if this is one.
    pub(super) carrier: Option<Carrier>,
}

/// A child block in the pool.
#[derive(Debug)]
pub(super) struct Carrier {
    pub(super) block: Arc<ChildBlock>,
    /// Number of carried transactions that are not in the pool, are parked, or belong to another chain.
    pub(super) lacking: u32,
}

impl Entry {
    pub(super) fn owner(&self) -> (AccountId, ChainId) {
        (self.carried.sender, self.carried.transaction.chain)
    }

    /// Returns the time at which its deadline is over.
    pub(super) fn deadline(&self) -> BlockTimestamp {
        let next = self.carried.transaction.expires().next();
        // A deadline at the last second is never over.
        next.unwrap_or(BlockTimestamp::LAST)
    }
}

/// Entries by slot number, so that indexes hold four bytes instead of an id.
#[derive(Debug, Default)]
pub(super) struct Slots {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn put(&mut self, entry: Entry) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.entries[slot as usize] = Some(entry);
            return slot;
        }
        self.entries.push(Some(entry));
        // A pool holds fewer than 2^32 transactions, because more would not fit into memory.
        (self.entries.len() - 1) as u32
    }

    pub(super) fn take(&mut self, slot: u32) -> Entry {
        self.free.push(slot);
        self.entries[slot as usize]
            .take()
            .expect("indexes hold only numbers of entries that are there")
    }

    pub(super) fn get(&self, slot: u32) -> &Entry {
        self.entries[slot as usize]
            .as_ref()
            .expect("indexes hold only numbers of entries that are there")
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Entry {
        self.entries[slot as usize]
            .as_mut()
            .expect("indexes hold only numbers of entries that are there")
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Returns the slots of all entries, ascending.
    pub(super) fn all(&self) -> Vec<u32> {
        (0..self.entries.len() as u32)
            .filter(|slot| self.entries[*slot as usize].is_some())
            .collect()
    }
}
