//! Accepted payments, kept until the audit.

use primitives::Hash;

use super::TxKey;
use crate::audit::Sample;

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

/// All accepted payments of a load. Beyond [`KEPT_MAX`] every second one is kept, then every fourth, and so on, chosen by
/// their keys.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptedPayments {
    kept_max: usize,
    kept: Vec<Accepted>,
    total: u64,
    sample: Sample,
}

impl Default for AcceptedPayments {
    fn default() -> Self {
        Self::keeping(KEPT_MAX)
    }
}

impl AcceptedPayments {
    /// Creates books that keep this many.
    #[must_use]
    pub fn keeping(kept_max: usize) -> Self {
        Self {
            kept_max: kept_max.max(1),
            kept: Vec::new(),
            total: 0,
            sample: Sample::ALL,
        }
    }

    /// Records a payment.
    pub fn accept(&mut self, accepted: Accepted) {
        self.total += 1;
        while self.kept.len() >= self.kept_max && self.sample != self.sample.halved() {
            self.sample = self.sample.halved();
            let sample = self.sample;
            self.kept.retain(|kept| is_kept(&kept.key, sample));
        }
        if is_kept(&accepted.key, self.sample) && self.kept.len() < self.kept_max {
            self.kept.push(accepted);
        }
    }

    /// Returns how many were accepted in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the kept payments by key, and the number of payments that each stands for.
    #[must_use]
    pub fn kept(&self) -> (Vec<Accepted>, u64) {
        let mut kept = self.kept.clone();
        kept.sort_unstable();
        (kept, self.sample.one_in())
    }
}

/// Returns whether a key is kept. A key is a hash, so its beginning is random.
fn is_kept(key: &TxKey, sample: Sample) -> bool {
    sample.has(&Hash::from_bytes(key.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_limit_a_share_is_kept_and_all_are_counted() {
        let mut books = AcceptedPayments::keeping(100);
        for number in 0..10_000u32 {
            let key = TxKey(*Hash::plain(&number.to_be_bytes()).as_bytes());
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
        let mut few = AcceptedPayments::default();
        few.accept(kept[0]);
        assert_eq!(few.kept(), (vec![kept[0]], 1));
    }
}
