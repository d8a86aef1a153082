//! What is asked of the state for every transaction, kept in memory: ids of recent transactions in blocks, balances.

use std::collections::{BTreeMap, HashMap};

use crate::TxId;

/// Ids in blocks that are remembered at most; older ones are asked of the store.
const IDS_MAX: usize = 1 << 20;
/// Balances of one generation of the cache at most; there are two.
const BALANCES_MAX: usize = 1 << 16;

/// Answers for recent transactions, without the store, that no block has them.
///
/// It holds, from some second on, every id that a block of this branch has: 8 bytes of its hash, counted, so that an id that shares
/// them is never forgotten with another. What it holds is still asked of the store; what it does not hold is in no block.
#[derive(Debug, Default)]
pub(super) struct RecentIds {
    by_time: BTreeMap<u32, HashMap<[u8; 8], u32>>,
    count: usize,
    /// The first second from which all ids are here.
    complete_from: u32,
}

impl RecentIds {
    /// Nothing is held, and no block has an id of this second or later.
    pub(super) fn start(&mut self, complete_from: u32) {
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

    /// False if certainly no block has it.
    pub(super) fn may_hold(&self, id: &TxId) -> bool {
        id.time() < self.complete_from
            || self
                .by_time
                .get(&id.time())
                .is_some_and(|ids| ids.contains_key(&Self::short(id)))
    }

    /// A block has it now.
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
            self.complete_from = time.saturating_add(1);
        }
    }

    /// A block that had it is taken back.
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

/// Balances that were asked for lately: two generations, the older goes when the younger is full.
#[derive(Debug, Default)]
pub(super) struct BalanceCache {
    young: HashMap<BalanceKey, u64>,
    old: HashMap<BalanceKey, u64>,
}

impl BalanceCache {
    pub(super) fn find(&mut self, key: &BalanceKey) -> Option<u64> {
        if let Some(balance) = self.young.get(key) {
            return Some(*balance);
        }
        let balance = self.old.remove(key)?;
        self.keep(*key, balance);
        Some(balance)
    }

    pub(super) fn keep(&mut self, key: BalanceKey, balance: u64) {
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
