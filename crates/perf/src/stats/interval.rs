//! Means of repeats with their intervals, geometric means, and quantiles of one long stretch with theirs.

use super::student::{beta_below, t_quantile};
use crate::results::{Estimate, Histogram};

/// What the intervals cover.
const COVERED: f64 = 0.95;

/// Mean and variance (of the sample, divided by one less than the count).
pub(super) fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (count - 1.0))
}

/// The mean of independent repeats with its 95 % interval by Student's t: exact for normal noise, good for anything that is not
/// wildly skewed. One value has no interval; none at all is `None`.
pub fn mean_interval(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let (mean, variance) = moments(values);
    if values.len() < 2 {
        return Some(Estimate {
            value: mean,
            low: None,
            high: None,
        });
    }
    let count = values.len() as f64;
    let half = t_quantile(0.5 + COVERED / 2.0, count - 1.0) * (variance / count).sqrt();
    Some(Estimate {
        value: mean,
        low: Some(mean - half),
        high: Some(mean + half),
    })
}

/// The geometric mean of positive ratios with its 95 % interval (the t-interval of their logarithms); `None` if there is none or one
/// is not positive.
pub fn geometric_mean(ratios: &[f64]) -> Option<Estimate> {
    if ratios.iter().any(|ratio| *ratio <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    mean_interval(&logs).map(|of_logs| Estimate {
        value: of_logs.value.exp(),
        low: of_logs.low.map(f64::exp),
        high: of_logs.high.map(f64::exp),
    })
}

/// A quantile of one histogram with its 95 % interval by order statistics: whatever the distribution, and exact but for the buckets,
/// *if the samples are independent*. Units of one stretch are not quite: then it is a lower bound of the uncertainty, and only repeats
/// tell the rest. Fewer samples than put both ends inside give an estimate without interval; none at all, `None`.
pub fn quantile_interval_ms(latencies: &Histogram, share: f64) -> Option<Estimate> {
    let count = latencies.count();
    if count == 0 || !(share > 0.0 && share < 1.0) {
        return None;
    }
    let tail = (1.0 - COVERED) / 2.0;
    // The interval from the l-th to the u-th smallest misses the quantile below with the chance that fewer than l samples are
    // under it, and above with the chance that at least u are.
    let low = last_rank(count, |rank| at_most(rank - 1, count, share) <= tail);
    let high = last_rank(count, |rank| 1.0 - at_most(rank - 1, count, share) > tail) + 1;
    let inside = low >= 1 && high <= count;
    let value = |rank: u64| latencies.quantile_ms(rank as f64 / count as f64);
    Some(Estimate {
        value: latencies.quantile_ms(share),
        low: inside.then(|| value(low)),
        high: inside.then(|| value(high)),
    })
}

/// The largest rank from 1 to `count` for which `holds`, which holds up to some rank and not after; 0 if never.
fn last_rank(count: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, count + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The chance that at most `k` of `count` independent samples are below the quantile of `share`.
fn at_most(k: u64, count: u64, share: f64) -> f64 {
    if k >= count {
        return 1.0;
    }
    beta_below(1.0 - share, (count - k) as f64, k as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_mean_has_the_interval_of_the_textbook() {
        let found = mean_interval(&[10.0, 12.0, 14.0, 16.0, 18.0]).expect("values");
        assert_eq!(found.value, 14.0);
        let half = 2.776_445 * (10.0f64 / 5.0).sqrt();
        assert!((found.high.expect("several") - 14.0 - half).abs() < 1e-5);
        assert!((14.0 - found.low.expect("several") - half).abs() < 1e-5);
        let one = mean_interval(&[3.0]).expect("a value");
        assert_eq!((one.value, one.low, one.high), (3.0, None, None));
        assert_eq!(mean_interval(&[]), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn ratios_average_geometrically() {
        let found = geometric_mean(&[2.0, 0.5]).expect("positive");
        assert!((found.value - 1.0).abs() < 1e-12);
        assert!(found.low < Some(1.0) && found.high > Some(1.0));
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn a_quantile_has_the_ranks_of_the_binomial_distribution() {
        let upto = |count: u64| Histogram {
            buckets: (1..=count)
                .map(|ms| (ms * 1000, 1))
                .collect::<BTreeMap<_, _>>(),
        };
        // Of 100: ranks 40 and 61, as tables of the median's interval say.
        let median = quantile_interval_ms(&upto(100), 0.5).expect("samples");
        assert_eq!((median.low, median.high), (Some(40.0), Some(61.0)));
        // Five cannot bracket a median with 95 %: both beyond is 2 of 32.
        let few = quantile_interval_ms(&upto(5), 0.5).expect("samples");
        assert_eq!((few.value, few.low), (3.0, None));
        let six = quantile_interval_ms(&upto(6), 0.5).expect("samples");
        assert_eq!((six.low, six.high), (Some(1.0), Some(6.0)));
        // The 99th percentile of 100 samples has no upper end.
        assert_eq!(
            quantile_interval_ms(&upto(100), 0.99)
                .expect("samples")
                .high,
            None
        );
        let many = quantile_interval_ms(&upto(100_000), 0.99).expect("samples");
        let (low, high) = (many.low.expect("many"), many.high.expect("many"));
        assert!(
            (low - 98_938.0).abs() < 3.0 && (high - 99_062.0).abs() < 3.0,
            "{low} {high}"
        );
        assert_eq!(quantile_interval_ms(&Histogram::default(), 0.5), None);
    }
}
