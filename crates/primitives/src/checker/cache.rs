//! Decoded Ed25519 keys: decoding one costs a square root in the field, a quarter of a batched check.

use std::collections::HashMap;
use std::fmt;

use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};

/// Two generations of decoded keys. When the young one is full, it becomes the old one, and the previous old one is dropped. A
/// look-up moves a key back to the young generation. So since the last use of a dropped key, at least half the capacity of
/// other keys were added.
pub(super) struct KeyCache {
    young: HashMap<[u8; 32], EdwardsPoint>,
    old: HashMap<[u8; 32], EdwardsPoint>,
    generation_max: usize,
    pub(super) counts: KeyCounts,
}

/// Counts of look-ups of decoded keys since the checker's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyCounts {
    /// Look-ups that found the key decoded.
    pub hits: u64,
    /// Look-ups that did not find it.
    pub misses: u64,
    /// Keys dropped because the cache was full.
    pub evicted: u64,
}

impl KeyCache {
    /// Holds at most `capacity` keys (at least two).
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            generation_max: (capacity / 2).max(1),
            counts: KeyCounts::default(),
        }
    }

    /// Returns the number of keys held now.
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Returns the maximum number of keys.
    pub(super) fn capacity(&self) -> usize {
        2 * self.generation_max
    }

    /// Returns the point of a key, if it is held.
    pub(super) fn get(&mut self, key: &[u8; 32]) -> Option<EdwardsPoint> {
        if let Some(point) = self.young.get(key) {
            self.counts.hits += 1;
            return Some(*point);
        }
        let Some(point) = self.old.remove(key) else {
            self.counts.misses += 1;
            return None;
        };
        self.counts.hits += 1;
        self.keep(*key, point);
        Some(point)
    }

    /// Adds a decoded key. Another thread may have decoded it as well.
    pub(super) fn add(&mut self, key: [u8; 32], point: EdwardsPoint) {
        if !self.young.contains_key(&key) && !self.old.contains_key(&key) {
            self.keep(key, point);
        }
    }

    fn keep(&mut self, key: [u8; 32], point: EdwardsPoint) {
        if self.young.len() >= self.generation_max {
            self.counts.evicted += self.old.len() as u64;
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, point);
    }
}

/// Returns the point that the bytes encode, in any encoding that ZIP 215 accepts, or `None` if they encode no point.
pub(super) fn decode(key: &[u8; 32]) -> Option<EdwardsPoint> {
    CompressedEdwardsY(*key).decompress()
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyCache({} + {})", self.young.len(), self.old.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyPair, PublicKey, Scheme};

    fn key(number: u8) -> [u8; 32] {
        match KeyPair::from_seed(Scheme::Ed25519, [number; 32]).public() {
            PublicKey::Ed25519(bytes) => *bytes,
            _ => unreachable!("asked for Ed25519"),
        }
    }

    fn point(cache: &mut KeyCache, key: &[u8; 32]) -> Option<EdwardsPoint> {
        let point = cache.get(key).or_else(|| decode(key));
        cache.add(*key, point?);
        point
    }

    #[test]
    fn bounded_and_right() {
        let mut cache = KeyCache::new(8);
        let hot = key(0);
        for round in 0..3 {
            for number in 1..20 {
                assert_eq!(
                    point(&mut cache, &key(number)),
                    decode(&key(number)),
                    "round {round}"
                );
                assert!(point(&mut cache, &hot).is_some());
                assert!(cache.young.contains_key(&hot));
                assert!(cache.len() <= cache.capacity());
            }
        }
        let KeyCounts {
            hits,
            misses,
            evicted,
        } = cache.counts;
        assert_eq!(hits + misses, 3 * 19 * 2, "each look-up is one of them");
        assert_eq!(misses, evicted + cache.len() as u64);
    }

    #[test]
    fn a_key_that_two_threads_decoded_is_kept_once() {
        let mut cache = KeyCache::new(8);
        for _ in 0..2 {
            cache.add(key(1), decode(&key(1)).expect("a point"));
        }
        assert_eq!(cache.len(), 1);
    }
}
