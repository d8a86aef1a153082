//! Latencies as percentiles, in bounded memory for any number of samples.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::whole::whole_micros;
use crate::results;

/// The longest latency recorded. A longer one counts as this long.
const LONGEST_US: u64 = 3_600_000_000;

/// A histogram of latencies with three significant digits, from 1 us to an hour.
#[derive(Clone, Debug)]
pub struct Latencies {
    micros: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    /// Creates a histogram without samples.
    pub fn new() -> Self {
        let micros = Histogram::new_with_bounds(1, LONGEST_US, 3)
            .expect("the bounds are constants that the histogram accepts");
        Self { micros }
    }

    /// Adds one sample.
    pub fn record(&mut self, took: Duration) {
        self.micros
            .record(recordable_us(took))
            .expect("the value is within the histogram's bounds");
    }

    /// Adds a delay of something that should happen at every `interval`: those that it delayed as well count too.
    pub fn record_with_missed(&mut self, took: Duration, interval: Duration) {
        self.micros
            .record_correct(recordable_us(took), recordable_us(interval))
            .expect("the value is within the histogram's bounds");
    }

    /// Returns the samples in the document's form, by the upper bounds of buckets.
    pub fn histogram(&self) -> results::Histogram {
        let recorded = self.micros.iter_recorded();
        let buckets = recorded.map(|step| {
            let bucket = self.micros.highest_equivalent(step.value_iterated_to());
            (bucket, step.count_at_value())
        });
        results::Histogram {
            buckets: buckets.collect(),
        }
    }

    /// Adds every sample of another histogram.
    pub fn merge(&mut self, other: &Latencies) {
        self.micros
            .add(&other.micros)
            .expect("both histograms have the same bounds");
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.micros.len()
    }

    /// Returns the latency that `share` (0 to 1) of the samples do not exceed, in milliseconds; 0 without samples.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        self.micros.value_at_quantile(share) as f64 / 1000.0
    }

    /// Returns the median in milliseconds.
    pub fn p50_ms(&self) -> f64 {
        self.quantile_ms(0.50)
    }

    /// Returns the 99th percentile in milliseconds.
    pub fn p99_ms(&self) -> f64 {
        self.quantile_ms(0.99)
    }

    /// Forgets every sample.
    pub fn clear(&mut self) {
        self.micros.reset();
    }
}

/// Returns the microseconds that the histogram records for a time: at least 1 and at most [`LONGEST_US`].
fn recordable_us(time: Duration) -> u64 {
    whole_micros(time).clamp(1, LONGEST_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let mut latencies = Latencies::new();
        assert_eq!((latencies.count(), latencies.p50_ms()), (0, 0.0));
        for ms in 1..=100 {
            latencies.record(Duration::from_millis(ms));
        }
        assert!((latencies.p50_ms() - 50.0).abs() < 0.1);
        assert!((latencies.p99_ms() - 99.0).abs() < 0.2);
        let mut both = Latencies::new();
        both.record(Duration::from_secs(100_000));
        both.record(Duration::ZERO);
        both.merge(&latencies);
        assert_eq!(both.count(), 102);
        assert!(both.quantile_ms(1.0) <= 3_610_000.0);
    }
}
