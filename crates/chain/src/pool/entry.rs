//! What the pool keeps of one transaction, and the order of turns.

use std::cmp::Reverse;
use std::sync::Arc;

use super::ChildBlock;
use crate::{AccountId, Carried, ChainId};

/// A place in the order of a chain: greater fee rates first, and among equals who came earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    rate: Reverse<u64>,
    place: i64,
}

impl Turn {
    pub(super) fn new(rate: u64, place: i64) -> Self {
        Self {
            rate: Reverse(rate),
            place,
        }
    }

    pub(super) fn rate(self) -> u64 {
        self.rate.0
    }

    pub(super) fn place(self) -> i64 {
        self.place
    }
}

/// Bytes that a fee rate is for.
const RATE_BYTES: u64 = 1_000;

/// The fee rate: minor units of the chain's token for each 1,000 bytes.
#[must_use]
pub fn fee_rate(fee: u64, bytes: u32) -> u64 {
    let rate = u128::from(fee) * u128::from(RATE_BYTES) / u128::from(bytes.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// The least fee whose rate is above `rate`.
pub(super) fn fee_above(rate: u64, bytes: u32) -> u64 {
    let fee = (u128::from(rate) + 1) * u128::from(bytes);
    u64::try_from(fee.div_ceil(u128::from(RATE_BYTES))).unwrap_or(u64::MAX)
}

/// What a transaction takes from its sender; of one that takes more than can be, more than anybody has.
pub(super) fn debit_of(carried: &Carried) -> u64 {
    carried.transaction.debit().unwrap_or(u64::MAX)
}

/// One transaction in the pool.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) carried: Arc<Carried>,
    pub(super) turn: Turn,
    /// What it takes from its sender.
    pub(super) debit: u64,
    /// The second at which it leaves: its deadline is over, or the wait for a balance.
    pub(super) ends: u32,
    /// Its sender's balance does not cover it now: it is in no block until it does.
    pub(super) parked: bool,
    /// Who stands before and behind it in its sender's line.
    pub(super) neighbours: (u32, u32),
    /// What it carries, if it is a child block.
    pub(super) carrier: Option<Carrier>,
}

/// A child block in the pool.
#[derive(Debug)]
pub(super) struct Carrier {
    pub(super) block: Arc<ChildBlock>,
    /// Carried transactions that are not in the pool, are parked there, or are of another chain.
    pub(super) lacking: u32,
}

impl Entry {
    pub(super) fn owner(&self) -> (AccountId, ChainId) {
        (self.carried.sender, self.carried.transaction.chain)
    }

    /// The second at which its deadline is over.
    pub(super) fn deadline(&self) -> u32 {
        self.carried.transaction.expires().saturating_add(1)
    }
}

/// Entries by number: indexes hold four bytes instead of an id.
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
        // A pool holds fewer than 2^32 transactions: they would not fit into memory.
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

    /// The numbers of all entries, ascending.
    pub(super) fn all(&self) -> Vec<u32> {
        (0..self.entries.len() as u32)
            .filter(|slot| self.entries[*slot as usize].is_some())
            .collect()
    }
}
