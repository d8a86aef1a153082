//! Caches for lookups that every transaction needs: recent ids in blocks, and balances.

use std::collections::{BTreeMap, HashMap};

use crate::{BlockTimestamp, MinorUnits, TxId};

/// Maximum number of remembered ids in blocks. Older ones are looked up in the store.
const IDS_MAX: usize = 1 << 20;
/// Maximum number of balances in one of the cache's two generations.
const BALANCES_MAX: usize = 1 << 16;

/// Answers for recent transactions, without the store, that no block includes them.
///
/// From some second on, it holds every id in a block of this branch: 8 bytes of its hash, with a count, so that removing one id
/// does not forget another with the same bytes. An id that it holds is still looked up in the store. An id that it does not hold
/// is in no block.
#[derive(Debug, Default)]
pub(super) struct RecentIds {
    by_time: BTreeMap<BlockTimestamp, HashMap<[u8; 8], u32>>,
    count: usize,
    /// All ids of this second and later are held.
    complete_from: BlockTimestamp,
}

impl RecentIds {
    /// Clears the cache. No block may have an id of this second or later.
    pub(super) fn start(&mut self, complete_from: BlockTimestamp) {
        *self = Self {
            complete_from,
            ..Self::default()
        };
    }

    fn short(id: &TxId) -> [u8; 8] {
        let mut short = [0; 8];
        short.copy_from_slice(&id.0[4..12]);
        short
    }

    /// Returns false if certainly no block has the id.
    pub(super) fn may_hold(&self, id: &TxId) -> bool {
        id.time() < self.complete_from
            || self
                .by_time
                .get(&id.time())
                .is_some_and(|ids| ids.contains_key(&Self::short(id)))
    }

    /// Adds an id that is now in a block.
    pub(super) fn add(&mut self, id: &TxId) {
        if id.time() < self.complete_from {
            return;
        }
        let ids = self.by_time.entry(id.time()).or_default();
        *ids.entry(Self::short(id)).or_insert(0) += 1;
        self.count += 1;
        while self.count > IDS_MAX {
            let Some((time, ids)) = self.by_time.pop_first() else {
                return;
            };
            self.count -= ids.values().map(|count| *count as usize).sum::<usize>();
            // After the last second there are no more ids.
            self.complete_from = time.next().unwrap_or(BlockTimestamp::LAST);
        }
    }

    /// Removes an id of a block that is rolled back.
    pub(super) fn remove(&mut self, id: &TxId) {
        let short = Self::short(id);
        let Some(ids) = self.by_time.get_mut(&id.time()) else {
            return;
        };
        let Some(count) = ids.get_mut(&short) else {
            return;
        };
        *count -= 1;
        self.count -= 1;
        if *count == 0 {
            ids.remove(&short);
        }
        if ids.is_empty() {
            self.by_time.remove(&id.time());
        }
    }
}

type BalanceKey = [u8; 17];

/// Recently used balances in two generations. The older one is dropped when the younger is full.
#[derive(Debug, Default)]
pub(super) struct BalanceCache {
    young: HashMap<BalanceKey, MinorUnits>,
    old: HashMap<BalanceKey, MinorUnits>,
}

impl BalanceCache {
    pub(super) fn find(&mut self, key: &BalanceKey) -> Option<MinorUnits> {
        if let Some(balance) = self.young.get(key) {
            return Some(*balance);
        }
        let balance = self.old.remove(key)?;
        self.keep(*key, balance);
        Some(balance)
    }

    pub(super) fn keep(&mut self, key: BalanceKey, balance: MinorUnits) {
        if self.young.len() >= BALANCES_MAX && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, balance);
    }

    pub(super) fn forget(&mut self, key: &[u8]) {
        if let Ok(key) = <&BalanceKey>::try_from(key) {
            self.young.remove(key);
            self.old.remove(key);
        }
    }
}
