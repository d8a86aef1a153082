//! The order of one chain's transactions.

use std::collections::BTreeMap;

use super::entry::Turn;

/// A chain's transactions in order of turn, without child blocks.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Transactions that blocks may include.
    pub(super) ready: BTreeMap<Turn, u32>,
    /// Transactions that their sender's balance does not cover.
    pub(super) parked: BTreeMap<Turn, u32>,
    /// Total bytes.
    pub(super) bytes: usize,
}

impl Lane {
    pub(super) fn of(&mut self, parked: bool) -> &mut BTreeMap<Turn, u32> {
        if parked {
            &mut self.parked
        } else {
            &mut self.ready
        }
    }

    /// Returns the slots in the order of eviction: parked transactions first, then the lowest fee rates.
    pub(super) fn worst(&self) -> impl Iterator<Item = u32> {
        self.parked
            .values()
            .rev()
            .chain(self.ready.values().rev())
            .copied()
    }
}
