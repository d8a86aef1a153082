//! The order of one chain's transactions.

use std::collections::BTreeMap;

use super::entry::Turn;

/// A chain's transactions in order of turn, child blocks not among them.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Those that blocks may have.
    pub(super) ready: BTreeMap<Turn, u32>,
    /// Those that their sender's balance does not cover.
    pub(super) parked: BTreeMap<Turn, u32>,
    /// Bytes of all.
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

    /// From the one that goes first when room is needed: the parked ones, then the lowest fee rates.
    pub(super) fn worst(&self) -> impl Iterator<Item = u32> {
        self.parked
            .values()
            .rev()
            .chain(self.ready.values().rev())
            .copied()
    }
}
