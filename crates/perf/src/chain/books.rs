//! Accepted payments, kept until the audit.

use primitives::Hash;
use serde::{Deserialize, Serialize};

use super::TxKey;
use crate::audit::Sample;

/// Upper limit on accepted payments kept: 48 bytes each.
pub const KEPT_MAX: usize = 4_000_000;

/// A payment that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedPayments {
    #[serde(skip, default = "kept_max")]
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
        self.total = self.total.saturating_add(1);
        while self.kept.len() >= self.kept_max && self.sample != self.sample.halved() {
            self.thin_out();
        }
        if is_kept(&accepted.key, self.sample) && self.kept.len() < self.kept_max {
            self.kept.push(accepted);
        }
    }

    /// Drops every second payment.
    fn thin_out(&mut self) {
        self.sample = self.sample.halved();
        let sample = self.sample;
        self.kept.retain(|kept| is_kept(&kept.key, sample));
    }

    /// Takes out all payments since the last call.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let empty = Self {
            kept_max: self.kept_max,
            kept: Vec::new(),
            total: 0,
            sample: self.sample,
        };
        std::mem::replace(self, empty)
    }

    /// Adds another generator's payments. Their times become those that `at` returns. Sums that do not fit are clipped: only a faulty
    /// generator reports them.
    pub fn join(&mut self, other: Self, at: impl Fn(u64) -> u64) {
        while self.sample.one_in() < other.sample.one_in() {
            self.thin_out();
        }
        let all = self.total.saturating_add(other.total);
        for accepted in other.kept {
            self.accept(Accepted {
                due_ms: at(accepted.due_ms),
                ..accepted
            });
        }
        self.total = all;
    }

    /// Returns whether no payment was accepted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
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

fn kept_max() -> usize {
    KEPT_MAX
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

        // The payments of a generator that keeps a share are joined with those of one that keeps all.
        let text = serde_json::to_string(&books.take()).expect("JSON");
        assert!(books.is_empty() && books.kept().0.is_empty());
        let sent: AcceptedPayments = serde_json::from_str(&text).expect("the same");
        few.join(sent, |due_ms| due_ms + 5);
        let (joined, of) = few.kept();
        assert_eq!((few.total(), of), (10_001, every));
        assert_eq!(joined.len(), kept.len() + 1, "the first one stays");
        assert_eq!(joined[1].due_ms, 5);
    }
}
