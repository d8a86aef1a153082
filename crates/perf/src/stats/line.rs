//! Straight lines through values over time, for drift over hours of the same load.

use super::interval::moments;
use super::student::t_quantile;
use crate::results::Estimate;

/// A straight line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its value at 0.
    pub at_zero: f64,
    /// Its rise for each unit of x, with the 95 % interval.
    pub slope: Estimate,
}

/// Returns the means of `blocks` equal parts of the time that the points cover, `(mean x, mean y)` of each. Parts without
/// points are left out.
///
/// Neighbouring samples of a running system are correlated. Means over blocks much longer than that correlation are close
/// to independent, so a line fitted to them has a valid interval.
pub fn block_means(points: &[(f64, f64)], blocks: usize) -> Vec<(f64, f64)> {
    let finite = || {
        points
            .iter()
            .filter(|(x, y)| x.is_finite() && y.is_finite())
    };
    let low = finite().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    let high = finite().map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max);
    if blocks == 0 || high.partial_cmp(&low) != Some(std::cmp::Ordering::Greater) {
        return Vec::new();
    }
    let mut sums = vec![(0.0, 0.0, 0u32); blocks];
    for (x, y) in finite() {
        // From 0 to `blocks`; the last point falls into the last block.
        let at = ((x - low) / (high - low) * blocks as f64) as usize;
        let sum = &mut sums[at.min(blocks - 1)];
        sum.0 += x;
        sum.1 += y;
        sum.2 += 1;
    }
    sums.iter()
        .filter(|(_, _, count)| *count > 0)
        .map(|(x, y, count)| (x / f64::from(*count), y / f64::from(*count)))
        .collect()
}

/// Returns the least-squares line. The remaining correlation of neighbouring residuals in order of x widens the interval.
/// `None` for fewer than three points, or if all have the same x.
pub fn fit(points: &[(f64, f64)]) -> Option<Line> {
    let count = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let (x_mean, _) = moments(&points.iter().map(|point| point.0).collect::<Vec<_>>());
    let (y_mean, _) = moments(&points.iter().map(|point| point.1).collect::<Vec<_>>());
    let spread: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    if spread.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
        return None;
    }
    let common: f64 = points
        .iter()
        .map(|(x, y)| (x - x_mean) * (y - y_mean))
        .sum();
    let slope = common / spread;
    let at_zero = y_mean - slope * x_mean;
    let residuals: Vec<f64> = points
        .iter()
        .map(|(x, y)| y - at_zero - slope * x)
        .collect();
    let squares: f64 = residuals.iter().map(|residual| residual.powi(2)).sum();
    let neighbours: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let alike = if squares > 0.0 {
        (neighbours / squares).clamp(0.0, 0.9)
    } else {
        0.0
    };
    let error = (squares / (count - 2.0) / spread * (1.0 + alike) / (1.0 - alike)).sqrt();
    let half = t_quantile(0.975, count - 2.0) * error;
    slope.is_finite().then_some(Line {
        at_zero,
        slope: Estimate {
            value: slope,
            low: Some(slope - half),
            high: Some(slope + half),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_line_is_found_without_uncertainty() {
        let points: Vec<(f64, f64)> = (0..10)
            .map(|x| (f64::from(x), 3.0 - 2.0 * f64::from(x)))
            .collect();
        let line = fit(&points).expect("a line");
        assert!((line.slope.value + 2.0).abs() < 1e-12 && (line.at_zero - 3.0).abs() < 1e-12);
        assert!(
            line.slope.high.expect("an interval") - line.slope.low.expect("an interval") < 1e-6
        );
    }

    #[test]
    fn a_line_has_the_interval_of_the_textbook() {
        let points = [(1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 3.0), (5.0, 6.0)];
        let line = fit(&points).expect("a line");
        assert!((line.slope.value - 1.0).abs() < 1e-12);
        // Residuals alternate: squares 4.8 over three degrees and a spread of ten.
        let half = 3.182_446 * (4.8f64 / 3.0 / 10.0).sqrt();
        assert!((line.slope.high.expect("an interval") - 1.0 - half).abs() < 1e-5);
    }

    #[test]
    fn nothing_is_fitted_to_what_is_no_line() {
        assert_eq!(fit(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(fit(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(fit(&[(0.0, f64::NAN), (1.0, 2.0), (2.0, 2.0)]), None);
        assert!(block_means(&[], 4).is_empty());
        assert!(block_means(&[(1.0, 1.0)], 4).is_empty());
    }

    #[test]
    fn blocks_are_parts_of_the_time() {
        let points: Vec<(f64, f64)> = (0..=8).map(|x| (f64::from(x), f64::from(x * 10))).collect();
        assert_eq!(
            block_means(&points, 2),
            vec![(1.5, 15.0), (6.0, 60.0)],
            "0 to 3, and 4 to 8"
        );
        let gap = [(0.0, 1.0), (1.0, 1.0), (9.0, 5.0)];
        assert_eq!(block_means(&gap, 3).len(), 2, "a gap is left out");
    }
}
