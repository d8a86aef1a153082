//! Which percentiles a number of samples supports.

use super::model::Point;
use super::samples::Histogram;

/// Samples that have to lie beyond a percentile.
///
/// The number of samples beyond the true percentile varies by its square root from run to run. With 10 samples it varies by
/// about 3, so the figure is a percentile between p98.7 and p99.3 where it says p99. With fewer, the figure is one of the
/// largest samples, and the 99th percentile of 32 samples is their maximum.
const BEYOND_MIN: f64 = 10.0;

/// The percentiles of latency among the metrics: name and share.
pub const LATENCY_PERCENTILES: [(&str, f64); 4] = [
    ("p50_ms", 0.5),
    ("p90_ms", 0.9),
    ("p95_ms", 0.95),
    ("p99_ms", 0.99),
];

/// The percentiles of the time to a block among the metrics.
pub const TO_BLOCK_PERCENTILES: [(&str, f64); 2] =
    [("to_block_p50_s", 0.5), ("to_block_p95_s", 0.95)];

/// Returns the number of samples that a percentile needs, `ceil(10 / (1 - share))`: 20 for the median, 200 for p95, 1,000
/// for p99. `share` is below 1.
pub fn samples_needed(share: f64) -> u64 {
    // The rounding error of the division is removed, so that p99 needs 1,000 samples and not 1,001.
    (BEYOND_MIN / (1.0 - share) - 1e-6).ceil() as u64
}

impl Histogram {
    /// Returns the latency that `share` of the samples do not exceed, in milliseconds; `None` if there are too few samples
    /// for that percentile ([`samples_needed`]).
    pub fn percentile_ms(&self, share: f64) -> Option<f64> {
        (self.count() >= samples_needed(share)).then(|| self.quantile_ms(share))
    }
}

/// The samples that a metric of a point rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It is no percentile, or a stretch has enough samples for it.
    Enough,
    /// No stretch has enough samples; the most that one has.
    TooFew(u64),
}

impl Point {
    /// Returns whether a stretch has enough samples for a metric. A point without samples supports every metric: its
    /// figures were made elsewhere.
    pub fn support(&self, metric: &str) -> Support {
        let share_of = |table: &[(&str, f64)]| {
            let found = table.iter().find(|(name, _)| *name == metric);
            found.map(|(_, share)| *share)
        };
        let latencies = || self.stretches.iter().map(|one| one.latencies.count()).max();
        let to_block = || {
            let chains = self.stretches.iter().filter_map(|one| one.chain.as_ref());
            chains.map(|chain| chain.to_block.count()).max()
        };
        let (share, most) = match (
            share_of(&LATENCY_PERCENTILES),
            share_of(&TO_BLOCK_PERCENTILES),
        ) {
            (Some(share), _) => (share, latencies()),
            (None, Some(share)) => (share, to_block()),
            (None, None) => return Support::Enough,
        };
        match most {
            Some(count) if count > 0 && count < samples_needed(share) => Support::TooFew(count),
            _ => Support::Enough,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Stretch;

    #[test]
    fn percentiles_need_ten_samples_beyond_them() {
        for (share, needed) in [
            (0.5, 20),
            (0.9, 100),
            (0.95, 200),
            (0.99, 1_000),
            (0.999, 10_000),
        ] {
            assert_eq!(samples_needed(share), needed, "{share}");
            for (count, is_there) in [(needed - 1, false), (needed, true)] {
                let histogram = Histogram {
                    buckets: [(1_000, count)].into(),
                };
                assert_eq!(histogram.percentile_ms(share).is_some(), is_there);
            }
        }
    }

    #[test]
    fn a_metric_needs_one_stretch_with_enough_samples() {
        let stretch = |count| Stretch {
            latencies: Histogram {
                buckets: [(1_000, count)].into(),
            },
            ..Stretch::default()
        };
        for (counts, metric, expected) in [
            (&[][..], "p99_ms", Support::Enough),
            (&[32, 30], "p99_ms", Support::TooFew(32)),
            (&[32, 30], "p50_ms", Support::Enough),
            (&[32, 30], "max_ms", Support::Enough),
            (&[32, 1_000], "p99_ms", Support::Enough),
            (&[32], "to_block_p95_s", Support::Enough),
        ] {
            let point = Point {
                stretches: counts.iter().copied().map(stretch).collect(),
                ..Point::default()
            };
            assert_eq!(point.support(metric), expected, "{counts:?} {metric}");
        }
    }
}
