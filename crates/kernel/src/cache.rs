//! A cache bounded by bytes with constant-time operations: two generations, the older dropped whole.

use std::collections::HashMap;
use std::hash::Hash;

use crate::figures::CacheFigures;

/// Bounded by the weight of its entries. A hit in the old generation moves the entry to the young one; when the young one
/// holds half the budget it becomes the old one. So an entry lives for at least half a budget's worth of other entries.
#[derive(Debug)]
pub struct GenerationCache<K, V> {
    young: HashMap<K, (V, usize)>,
    old: HashMap<K, (V, usize)>,
    young_bytes: usize,
    old_bytes: usize,
    half_budget_bytes: usize,
    hits: u64,
    misses: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> GenerationCache<K, V> {
    /// A cache of at most about `budget_bytes`, by the weights given on insertion.
    pub fn new(budget_bytes: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            young_bytes: 0,
            old_bytes: 0,
            half_budget_bytes: (budget_bytes / 2).max(1),
            hits: 0,
            misses: 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        (self.young, self.old) = (HashMap::new(), HashMap::new());
        (self.young_bytes, self.old_bytes) = (0, 0);
    }

    /// Stores a value; `weight_bytes` should include the key and some overhead.
    pub fn insert(&mut self, key: K, value: V, weight_bytes: usize) {
        if let Some((_, old)) = self.young.insert(key, (value, weight_bytes)) {
            self.young_bytes = self.young_bytes.saturating_sub(old);
        }
        self.young_bytes = self.young_bytes.saturating_add(weight_bytes);
        if self.young_bytes > self.half_budget_bytes {
            self.old = std::mem::take(&mut self.young);
            self.old_bytes = self.young_bytes;
            self.young_bytes = 0;
        }
    }

    /// The value, if it is still held.
    pub fn get(&mut self, key: &K) -> Option<V> {
        if let Some((value, _)) = self.young.get(key) {
            self.hits += 1;
            return Some(value.clone());
        }
        if let Some((value, weight)) = self.old.remove(key) {
            self.hits += 1;
            self.old_bytes = self.old_bytes.saturating_sub(weight);
            self.insert(key.clone(), value.clone(), weight);
            return Some(value);
        }
        self.misses += 1;
        None
    }

    /// Whether the key is held; counted as a look-up, but does not keep the entry longer.
    pub fn holds(&mut self, key: &K) -> bool {
        let held = self.contains(key);
        self.hits += u64::from(held);
        self.misses += u64::from(!held);
        held
    }

    /// A look-up by [`GenerationCache::contains`] that found something and is to be counted.
    pub fn count_hit(&mut self) {
        self.hits += 1;
    }

    /// Whether the key is held; does not count as a use.
    pub fn contains(&self, key: &K) -> bool {
        self.young.contains_key(key) || self.old.contains_key(key)
    }

    /// The value, without counting as a use.
    pub fn peek(&self, key: &K) -> Option<&V> {
        let found = self.young.get(key).or_else(|| self.old.get(key));
        found.map(|(value, _)| value)
    }

    /// Bytes held now, by the weights given.
    pub fn bytes(&self) -> usize {
        self.young_bytes + self.old_bytes
    }

    /// Bytes now, look-ups that hit and that missed since the start.
    pub fn figures(&self) -> CacheFigures {
        CacheFigures {
            bytes: self.bytes() as u64,
            hits: self.hits,
            misses: self.misses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_at_most_its_budget_and_keeps_what_is_used() {
        let mut cache = GenerationCache::new(1_000);
        cache.insert(0u32, 0u32, 10);
        for i in 1..10_000u32 {
            cache.insert(i, i, 10);
            assert!(cache.bytes() <= 1_010, "{} bytes", cache.bytes());
            assert_eq!(cache.get(&0), Some(0), "used all the time, so kept");
        }
        assert_eq!(cache.get(&1), None, "not used, so gone");
        assert!(cache.holds(&9_999) && !cache.holds(&1));
        let figures = cache.figures();
        assert_eq!((figures.hits, figures.misses), (10_000, 2));
        assert!(figures.bytes > 500 && figures.bytes <= 1_010);
    }
}
