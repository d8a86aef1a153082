//! Histograms with fixed buckets.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The unit of a histogram's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Recorded in nanoseconds, shown in seconds.
    Seconds,
    /// Recorded in milliseconds, shown in seconds.
    Milliseconds,
    /// Bytes.
    Bytes,
    /// Plain numbers.
    Count,
}

impl Unit {
    /// Returns the upper bounds of the buckets. A percentile is exact within a factor of about two.
    #[must_use]
    pub fn bounds(self) -> &'static [u64] {
        const US: u64 = 1_000;
        const MS: u64 = 1_000_000;
        match self {
            Unit::Seconds => &[
                10 * US,
                25 * US,
                50 * US,
                100 * US,
                250 * US,
                500 * US,
                MS,
                2_500 * US,
                5 * MS,
                10 * MS,
                25 * MS,
                50 * MS,
                100 * MS,
                250 * MS,
                500 * MS,
                1_000 * MS,
                2_500 * MS,
                5_000 * MS,
                10_000 * MS,
            ],
            Unit::Bytes => &[
                256,
                1 << 10,
                4 << 10,
                16 << 10,
                64 << 10,
                256 << 10,
                1 << 20,
                4 << 20,
                16 << 20,
            ],
            // Powers of two, which are also the buckets of the distributions that cores record themselves.
            Unit::Count | Unit::Milliseconds => &[
                1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384,
            ],
        }
    }

    /// Returns the unit in which values are shown.
    pub(super) fn shown(self) -> &'static str {
        match self {
            Unit::Seconds | Unit::Milliseconds => "seconds",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
        }
    }

    fn write(self, value: u64, to: &mut String) {
        // Writing to a string does not fail.
        let _ = match self {
            Unit::Seconds => write!(to, "{}", value as f64 / 1e9),
            Unit::Milliseconds => write!(to, "{}", value as f64 / 1e3),
            Unit::Bytes | Unit::Count => write!(to, "{value}"),
        };
    }
}

/// A histogram. Clones share its counts.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Cells>);

#[derive(Debug)]
struct Cells {
    unit: Unit,
    buckets: Vec<AtomicU64>,
    sum: AtomicU64,
}

impl Histogram {
    /// Returns an empty histogram.
    pub fn new(unit: Unit) -> Self {
        let buckets = (0..=unit.bounds().len())
            .map(|_| AtomicU64::new(0))
            .collect();
        Self(Arc::new(Cells {
            unit,
            buckets,
            sum: AtomicU64::new(0),
        }))
    }

    /// Records a value in its recorded unit.
    pub fn record(&self, value: u64) {
        let cells = &*self.0;
        let at = cells.unit.bounds().partition_point(|bound| *bound < value);
        if let Some(bucket) = cells.buckets.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        cells.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Records a duration, in a histogram of seconds. A duration above 584 years is recorded as 584 years.
    pub fn record_time(&self, took: Duration) {
        self.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Sets the counts of the buckets and the sum from a distribution that is recorded elsewhere with the same buckets.
    pub fn set(&self, buckets: &[u64], sum: u64) {
        for (bucket, count) in self.0.buckets.iter().zip(buckets) {
            bucket.store(*count, Ordering::Relaxed);
        }
        self.0.sum.store(sum, Ordering::Relaxed);
    }

    /// Returns the unit of the values.
    pub(super) fn unit(&self) -> Unit {
        self.0.unit
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.0
            .buckets
            .iter()
            .map(|bucket| bucket.load(Ordering::Relaxed))
            .sum()
    }

    /// Writes `name_bucket`, `name_sum` and `name_count` lines.
    pub(super) fn render(&self, name: &str, labels: &str, to: &mut String) {
        let cells = &*self.0;
        let comma = if labels.is_empty() { "" } else { "," };
        let mut below = 0;
        for (at, bucket) in cells.buckets.iter().enumerate() {
            below += bucket.load(Ordering::Relaxed);
            let _ = write!(to, "{name}_bucket{{{labels}{comma}le=\"");
            match cells.unit.bounds().get(at) {
                Some(bound) => cells.unit.write(*bound, to),
                None => to.push_str("+Inf"),
            }
            let _ = writeln!(to, "\"}} {below}");
        }
        let braces = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{labels}}}")
        };
        let _ = write!(to, "{name}_sum{braces} ");
        cells.unit.write(cells.sum.load(Ordering::Relaxed), to);
        let _ = writeln!(to, "\n{name}_count{braces} {below}");
    }
}
