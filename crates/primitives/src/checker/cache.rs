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
    /// Look-ups that had to decode the key.
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

    /// Returns the point that the bytes encode, in any encoding that ZIP 215 accepts, or `None` if they encode no point.
    pub(super) fn point(&mut self, key: &[u8; 32]) -> Option<EdwardsPoint> {
        if let Some(point) = self.young.get(key) {
            self.counts.hits += 1;
            return Some(*point);
        }
        let point = match self.old.remove(key) {
            Some(point) => {
                self.counts.hits += 1;
                point
            }
            None => {
                self.counts.misses += 1;
                CompressedEdwardsY(*key).decompress()?
            }
        };
        if self.young.len() >= self.generation_max {
            self.counts.evicted += self.old.len() as u64;
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(*key, point);
        Some(point)
    }
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

    #[test]
    fn bounded_and_right() {
        let mut cache = KeyCache::new(8);
        let hot = key(0);
        for round in 0..3 {
            for number in 1..20 {
                assert_eq!(
                    cache.point(&key(number)),
                    CompressedEdwardsY(key(number)).decompress(),
                    "round {round}"
                );
                assert!(cache.point(&hot).is_some());
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
    fn no_point_is_not_kept() {
        let mut cache = KeyCache::new(8);
        let mut bytes = [0; 32];
        bytes[0] = 2;
        assert_eq!(cache.point(&bytes), None);
        assert!(cache.young.is_empty());
    }
}
