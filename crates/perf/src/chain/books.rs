//! Accepted payments, kept until the audit.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::TxKey;

/// Upper limit on accepted payments kept: 48 bytes each.
pub const KEPT_MAX: usize = 4_000_000;

/// A payment that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Accepted {
    /// Its key.
    pub key: TxKey,
    /// The due time, milliseconds since the scenario began.
    pub due_ms: u64,
    /// The node that accepted it, as an index into the targets.
    pub node: u32,
}

/// The books. Beyond [`KEPT_MAX`] they keep every second payment, then every fourth, and so on, chosen by their keys.
#[derive(Debug)]
pub struct Books {
    kept_max: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    kept: Vec<Accepted>,
    total: u64,
    /// A payment is kept if its key has these bits clear.
    mask: u32,
}

impl Default for Books {
    fn default() -> Self {
        Self::keeping(KEPT_MAX)
    }
}

impl Books {
    /// Creates books that keep this many.
    #[must_use]
    pub fn keeping(kept_max: usize) -> Self {
        Self {
            kept_max: kept_max.max(1),
            inner: Mutex::default(),
        }
    }

    /// Records a payment.
    pub fn accept(&self, accepted: Accepted) {
        let mut inner = self.lock();
        inner.total += 1;
        while inner.kept.len() >= self.kept_max && inner.mask < u32::MAX {
            inner.mask = inner.mask << 1 | 1;
            let mask = inner.mask;
            inner.kept.retain(|kept| is_kept(&kept.key, mask));
        }
        if is_kept(&accepted.key, inner.mask) && inner.kept.len() < self.kept_max {
            inner.kept.push(accepted);
        }
    }

    /// Returns how many were accepted in all.
    pub fn total(&self) -> u64 {
        self.lock().total
    }

    /// Returns the kept payments by key, and the number of payments that each stands for.
    pub fn kept(&self) -> (Vec<Accepted>, u64) {
        let inner = self.lock();
        let mut kept = inner.kept.clone();
        let every = u64::from(inner.mask) + 1;
        drop(inner);
        kept.sort_unstable();
        (kept, every)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a key is kept. The end of a key is practically random.
fn is_kept(key: &TxKey, mask: u32) -> bool {
    let [.., a, b, c, d] = key.0;
    u32::from_be_bytes([a, b, c, d]) & mask == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_limit_a_share_is_kept_and_all_are_counted() {
        let books = Books::keeping(100);
        for number in 0..10_000u32 {
            let key = TxKey(*primitives::Hash::plain(&number.to_be_bytes()).as_bytes());
            books.accept(Accepted {
                key,
                due_ms: 0,
                node: 0,
            });
        }
        let (kept, every) = books.kept();
        assert_eq!(books.total(), 10_000);
        assert!((128..=512).contains(&every), "{every}");
        assert!((20..=100).contains(&kept.len()), "{}", kept.len());
        assert!(kept.is_sorted());
        let few = Books::default();
        few.accept(kept[0]);
        assert_eq!(few.kept(), (vec![kept[0]], 1));
    }
}
