//! Means of repeats with their intervals, and geometric means.

use super::student::t_quantile;
use crate::results::Estimate;

/// The coverage of the intervals.
const COVERED: f64 = 0.95;

/// Returns mean and variance (of the sample, divided by one less than the count).
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

/// Returns the mean of independent repeats with its 95 % interval by Student's t. It is exact for normal noise, and good
/// unless the noise is strongly skewed. One value has no interval; no value gives `None`.
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

/// Returns the geometric mean of positive ratios with its 95 % interval (the t-interval of their logarithms). `None` if
/// there are none, or if one is not positive.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
