//! A bounded set of hashes that are remembered for a while.

use primitives::Hash;
use std::collections::HashSet;
use std::collections::VecDeque;

/// A bounded set that drops the oldest hash first.
#[derive(Debug)]
pub(super) struct BoundedSet {
    order: VecDeque<Hash>,
    set: HashSet<Hash>,
    max: usize,
}

impl BoundedSet {
    /// Returns an empty set of at most `max` hashes.
    pub(super) fn new(max: usize) -> Self {
        Self {
            order: VecDeque::new(),
            set: HashSet::new(),
            max: max.max(1),
        }
    }

    pub(super) fn contains(&self, hash: &Hash) -> bool {
        self.set.contains(hash)
    }

    pub(super) fn insert(&mut self, hash: Hash) {
        if !self.set.insert(hash) {
            return;
        }
        self.order.push_back(hash);
        if self.order.len() > self.max
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
    }

    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.set.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let mut set = BoundedSet::new(2);
        let hashes: Vec<Hash> = (0u8..3).map(|byte| Hash::plain(&[byte])).collect();
        set.insert(hashes[0]);
        set.insert(hashes[0]);
        set.insert(hashes[1]);
        assert!(hashes[..2].iter().all(|hash| set.contains(hash)));
        set.insert(hashes[2]);
        let known: Vec<bool> = hashes.iter().map(|hash| set.contains(hash)).collect();
        assert_eq!(known, [false, true, true]);
    }
}
