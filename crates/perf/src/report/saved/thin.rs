//! Thins latencies and series.

use crate::results::{Histogram, ProcessSample, Second, Stretch};

/// Buckets for each factor of ten. Each is 12 % wide, so that a distribution keeps its shape.
const BUCKETS_A_DECADE: f64 = 20.0;
/// A stretch of this length keeps its series, thinned; a shorter one loses them.
const SERIES_SECONDS_MIN: f64 = 600.0;
/// Rows of a thinned series.
const ROWS_MAX: usize = 60;
/// Readings of each process that are kept.
const SAMPLES_MAX: usize = 24;

/// Returns a histogram with fewer buckets. It has the same number of samples; each is rounded up by at most 12 %.
pub fn histogram(full: &Histogram) -> Histogram {
    let mut thin = Histogram::default();
    for (bound, count) in &full.buckets {
        let step = ((*bound as f64).max(1.0).log10() * BUCKETS_A_DECADE).ceil();
        // The bound of a bucket stays its bucket when it is thinned again.
        let wide = 10f64
            .powf(step / BUCKETS_A_DECADE)
            .floor()
            .max(*bound as f64);
        let kept = thin.buckets.entry(wide as u64).or_default();
        *kept = kept.saturating_add(*count);
    }
    thin
}

/// Leaves out a stretch's readings over time. A long stretch keeps rows of its series, and readings of its processes if
/// `with_processes`.
pub fn series(stretch: &mut Stretch, with_processes: bool) {
    stretch.metrics.clear();
    if stretch.seconds < SERIES_SECONDS_MIN {
        stretch.series.clear();
        stretch.processes.clear();
        return;
    }
    let seconds = std::mem::take(&mut stretch.series);
    let each = seconds.len().div_ceil(ROWS_MAX).max(1);
    stretch.series = seconds.chunks(each).map(row).collect();
    if !with_processes {
        stretch.processes.clear();
    }
    for process in &mut stretch.processes {
        process.samples = spread(&process.samples);
    }
}

/// Returns the means of some seconds as one second. Its latencies are the median of the medians, and the highest p99.
fn row(seconds: &[Second]) -> Second {
    let mean = |of: fn(&Second) -> u64| {
        let sum = seconds.iter().map(of).fold(0, u64::saturating_add);
        (sum as f64 / seconds.len().max(1) as f64).round() as u64
    };
    let mut medians: Vec<f64> = seconds.iter().map(|second| second.p50_ms).collect();
    medians.sort_by(f64::total_cmp);
    let slowest = seconds.iter().map(|second| second.p99_ms);
    Second {
        at_ms: seconds.first().map_or(0, |second| second.at_ms),
        done: mean(|second| second.done),
        failed: mean(|second| second.failed),
        // A chunk has at least one second.
        p50_ms: medians.get(medians.len() / 2).copied().unwrap_or(0.0),
        p99_ms: slowest.fold(0.0, f64::max),
        outstanding: mean(|second| second.outstanding),
    }
}

/// Returns samples at even distances, the first and the last among them.
fn spread(samples: &[ProcessSample]) -> Vec<ProcessSample> {
    let count = samples.len().min(SAMPLES_MAX);
    if count < 2 {
        return samples.to_vec();
    }
    let places = (0..count).map(|at| at * (samples.len() - 1) / (count - 1));
    places.filter_map(|at| samples.get(at).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Process;

    #[test]
    fn a_thinned_histogram_keeps_its_samples_and_nearly_its_quantiles() {
        let full = Histogram {
            buckets: (0..3_000).map(|at| (900 + at * 7, 1 + at % 3)).collect(),
        };
        let thin = histogram(&full);
        assert_eq!(thin.count(), full.count());
        assert!(thin.buckets.len() < 40, "{}", thin.buckets.len());
        for share in [0.01, 0.5, 0.9, 0.99, 1.0] {
            let ratio = thin.quantile_ms(share) / full.quantile_ms(share);
            assert!((1.0..1.125).contains(&ratio), "{share}: {ratio}");
        }
        assert_eq!(histogram(&Histogram::default()), Histogram::default());
        let zero = Histogram {
            buckets: [(0, 4)].into(),
        };
        assert_eq!(histogram(&zero).count(), 4);
    }

    #[test]
    fn only_a_long_stretch_keeps_rows_over_time() {
        let second = |at: u64| Second {
            at_ms: at * 1_000,
            done: 100 + at % 2,
            p50_ms: 3.0,
            p99_ms: at as f64,
            ..Second::default()
        };
        let sample = |at: u64| ProcessSample {
            at_ms: at * 1_000,
            ..ProcessSample::default()
        };
        for (seconds, with_processes, rows, samples) in [
            (60_u64, true, 0, None),
            (3_600, true, 60, Some(24)),
            (3_600, false, 60, None),
        ] {
            let mut stretch = Stretch {
                seconds: seconds as f64,
                series: (0..seconds).map(second).collect(),
                processes: vec![Process {
                    name: "bank-1".to_owned(),
                    samples: (0..=seconds).map(sample).collect(),
                }],
                ..Stretch::default()
            };
            series(&mut stretch, with_processes);
            assert_eq!(stretch.series.len(), rows);
            let kept = stretch.processes.first().map(|one| one.samples.len());
            assert_eq!(kept, samples);
            if rows > 0 {
                assert_eq!(
                    (stretch.series[1].at_ms, stretch.series[1].p99_ms),
                    (60_000, 119.0)
                );
                // 100 and 101 in turn.
                assert!((100..=101).contains(&stretch.series[1].done));
            }
            let last = stretch.processes.first().and_then(|one| one.samples.last());
            assert!(last.is_none_or(|last| last.at_ms == 3_600_000));
        }
    }
}
