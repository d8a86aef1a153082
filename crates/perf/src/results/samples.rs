//! Latencies in the document's form: exact up to the histogram's buckets, and merged without loss.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts by bucket of a histogram with three significant digits, in microseconds. Merging two is exact.
/// Sums are clipped, since a report that was read from a file may hold any counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram {
    /// The number of samples by the upper bound of their bucket in microseconds.
    pub buckets: BTreeMap<u64, u64>,
}

impl Histogram {
    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        let counts = self.buckets.values();
        counts.fold(0u64, |sum, count| sum.saturating_add(*count))
    }

    /// Adds every sample of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (bucket, count) in &other.buckets {
            let sum = self.buckets.entry(*bucket).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Returns the latency that `share` (0 to 1) of the samples do not exceed, in milliseconds; 0 without samples.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        let wanted = (share.clamp(0.0, 1.0) * self.count() as f64)
            .ceil()
            .max(1.0);
        let mut seen = 0u64;
        for (bucket, count) in &self.buckets {
            seen = seen.saturating_add(*count);
            if seen as f64 >= wanted {
                return *bucket as f64 / 1000.0;
            }
        }
        0.0
    }

    /// Returns the mean in milliseconds; 0 without samples.
    pub fn mean_ms(&self) -> f64 {
        let count = self.count();
        if count == 0 {
            return 0.0;
        }
        let sum: f64 = self
            .buckets
            .iter()
            .map(|(bucket, count)| *bucket as f64 * *count as f64)
            .sum();
        sum / count as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_and_quantiles() {
        let mut one = Histogram::default();
        assert_eq!((one.quantile_ms(0.5), one.mean_ms()), (0.0, 0.0));
        one.buckets = BTreeMap::from([(1000, 1), (3000, 1)]);
        let other = Histogram {
            buckets: BTreeMap::from([(3000, 1), (5000, 1)]),
        };
        one.merge(&other);
        assert_eq!(one.count(), 4);
        assert_eq!(one.quantile_ms(0.5), 3.0);
        assert_eq!(one.quantile_ms(1.0), 5.0);
        assert_eq!(one.mean_ms(), 3.0);
    }
}
