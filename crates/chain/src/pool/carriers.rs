//! An index from transactions to the child blocks that carry them.

use std::collections::HashMap;

use crate::TxId;

/// The child blocks in the pool that carry each id. There is nearly always one, so a list is allocated only for more.
#[derive(Debug, Default)]
pub(super) struct Carriers {
    by_id: HashMap<TxId, (u32, Vec<u32>)>,
    /// Number of carried ids, counted once per child block.
    total: usize,
}

impl Carriers {
    pub(super) fn total(&self) -> usize {
        self.total
    }

    pub(super) fn add(&mut self, id: TxId, slot: u32) {
        self.total += 1;
        self.by_id
            .entry(id)
            .and_modify(|(_, more)| more.push(slot))
            .or_insert((slot, Vec::new()));
    }

    pub(super) fn remove(&mut self, id: &TxId, slot: u32) {
        let Some((first, more)) = self.by_id.get_mut(id) else {
            return;
        };
        self.total -= 1;
        if *first != slot {
            more.retain(|other| *other != slot);
        } else if let Some(other) = more.pop() {
            *first = other;
        } else {
            self.by_id.remove(id);
        }
    }

    /// Returns the slots of the child blocks that carry an id.
    pub(super) fn of(&self, id: &TxId) -> impl Iterator<Item = u32> {
        let carriers = match self.total {
            0 => None,
            _ => self.by_id.get(id),
        };
        carriers
            .into_iter()
            .flat_map(|(first, more)| std::iter::once(*first).chain(more.iter().copied()))
    }
}
