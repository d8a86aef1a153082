//! A cache bounded by bytes with constant-time operations: two generations, the older dropped whole.

use std::hash::Hash;

use primitives::collections::HashMap;

use crate::figures::CacheFigures;

/// Bounded by the weight of its entries. A hit in the old generation moves the entry to the young one; when the young one
/// is to hold more than half the budget it becomes the old one. So an entry lives for about half a budget's worth of other
/// entries. An entry heavier than the budget is not kept.
///
/// # Invariants
/// The entries never weigh more than the budget.
#[derive(Debug)]
pub struct GenerationCache<K, V> {
    young: HashMap<K, (V, usize)>,
    old: HashMap<K, (V, usize)>,
    young_bytes: usize,
    old_bytes: usize,
    half_budget_bytes: usize,
    hits: u64,
    misses: u64,
    evicted: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> GenerationCache<K, V> {
    /// Creates a cache of at most `budget_bytes`, by the weights given on insertion.
    pub fn new(budget_bytes: usize) -> Self {
        Self {
            young: HashMap::default(),
            old: HashMap::default(),
            young_bytes: 0,
            old_bytes: 0,
            half_budget_bytes: (budget_bytes / 2).max(1),
            hits: 0,
            misses: 0,
            evicted: 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        (self.young, self.old) = (HashMap::default(), HashMap::default());
        (self.young_bytes, self.old_bytes) = (0, 0);
    }

    /// Forgets an entry.
    pub fn remove(&mut self, key: &K) {
        for (entries, bytes) in [
            (&mut self.young, &mut self.young_bytes),
            (&mut self.old, &mut self.old_bytes),
        ] {
            if let Some((_, weight)) = entries.remove(key) {
                *bytes -= weight;
            }
        }
    }

    /// Stores a value; `weight_bytes` should include the key and some overhead.
    pub fn insert(&mut self, key: K, value: V, weight_bytes: usize) {
        self.remove(&key);
        if weight_bytes > self.budget_bytes() {
            self.evicted += 1;
            return;
        }
        if self.young_bytes + weight_bytes > self.half_budget_bytes {
            self.drop_old();
            self.old = std::mem::take(&mut self.young);
            self.old_bytes = std::mem::take(&mut self.young_bytes);
        }
        // Only one that is heavier than half the budget leaves no room for the others.
        if self.bytes() + weight_bytes > self.budget_bytes() {
            self.drop_old();
        }
        self.young.insert(key, (value, weight_bytes));
        self.young_bytes += weight_bytes;
    }

    fn drop_old(&mut self) {
        self.evicted += self.old.len() as u64;
        self.old = HashMap::default();
        self.old_bytes = 0;
    }

    /// Returns the value if it is still held, and counts a look-up.
    pub fn get(&mut self, key: &K) -> Option<V> {
        if let Some((value, _)) = self.young.get(key) {
            self.hits += 1;
            return Some(value.clone());
        }
        if let Some((value, weight)) = self.old.remove(key) {
            self.hits += 1;
            self.old_bytes -= weight;
            self.insert(key.clone(), value.clone(), weight);
            return Some(value);
        }
        self.misses += 1;
        None
    }

    /// Returns whether the key is held. Counts a look-up, but does not keep the entry longer.
    pub fn holds(&mut self, key: &K) -> bool {
        let held = self.contains(key);
        self.hits += u64::from(held);
        self.misses += u64::from(!held);
        held
    }

    /// Counts a hit that [`GenerationCache::contains`] found.
    pub fn count_hit(&mut self) {
        self.hits += 1;
    }

    /// Returns whether the key is held, without counting a look-up.
    pub fn contains(&self, key: &K) -> bool {
        self.young.contains_key(key) || self.old.contains_key(key)
    }

    /// Returns the value, without counting a look-up.
    pub fn peek(&self, key: &K) -> Option<&V> {
        let found = self.young.get(key).or_else(|| self.old.get(key));
        found.map(|(value, _)| value)
    }

    /// Returns the sum of the weights held, in bytes.
    pub fn bytes(&self) -> usize {
        self.young_bytes + self.old_bytes
    }

    /// Returns the maximum sum of the weights, in bytes.
    pub fn budget_bytes(&self) -> usize {
        // Clipped at a budget that no memory can exceed.
        self.half_budget_bytes.saturating_mul(2)
    }

    /// Returns the bytes held and the budget, with the hits, misses and evictions since the start.
    pub fn figures(&self) -> CacheFigures {
        CacheFigures {
            bytes: self.bytes() as u64,
            budget_bytes: self.budget_bytes() as u64,
            hits: self.hits,
            misses: self.misses,
            evicted: self.evicted,
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
            assert!(cache.bytes() <= 1_000, "{} bytes", cache.bytes());
            assert_eq!(cache.get(&0), Some(0), "used all the time, so kept");
        }
        assert_eq!(cache.get(&1), None, "not used, so gone");
        assert!(cache.holds(&9_999) && !cache.holds(&1));
        let figures = cache.figures();
        assert_eq!((figures.hits, figures.misses), (10_000, 2));
        assert!(figures.bytes > 500 && figures.bytes <= figures.budget_bytes);
        assert_eq!(figures.evicted, 10_000 - figures.bytes / 10);
    }

    #[test]
    fn its_budget_is_kept_whatever_the_weights() {
        let mut cache = GenerationCache::new(1_000);
        let mut weight = 7;
        for key in 0..20_000u32 {
            weight = (weight * 31 + 11) % 1_300;
            cache.insert(key % 97, key, weight);
            let summed: usize = [&cache.young, &cache.old]
                .iter()
                .flat_map(|entries| entries.values().map(|(_, weight)| *weight))
                .sum();
            assert_eq!(summed, cache.bytes(), "the reckoning is right");
            assert!(summed <= cache.budget_bytes(), "{summed} bytes");
            assert_eq!(
                cache.get(&(key % 97)).is_some(),
                weight <= 1_000,
                "{weight}"
            );
            cache.get(&(key % 13));
        }
    }
}
