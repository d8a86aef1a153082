//! Fits straight lines and evaluates them, with intervals for one further stretch of load.

use crate::results::Estimate;
use crate::stats::t_quantile;

/// The upper quantile of a two-sided 95 % interval.
const UPPER: f64 = 0.975;

/// A fitted line, evaluated at a position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    /// The fitted value at that rate, with the 95 % prediction interval for one further stretch.
    pub(super) at: Estimate,
    /// The fitted value at rate 0.
    pub(super) at_zero: f64,
    /// The rise for each unit of x, with its 95 % confidence interval.
    pub(super) slope: Estimate,
}

/// Returns the least-squares line at `x`; `None` for fewer than three points, or if all have the same x.
pub(super) fn line(points: &[(f64, f64)], x: f64) -> Option<Reading> {
    let count = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x_mean).powi(2)).sum();
    if spread.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
        return None;
    }
    let common: f64 = points
        .iter()
        .map(|point| (point.0 - x_mean) * (point.1 - y_mean))
        .sum();
    let slope = common / spread;
    let at_zero = y_mean - slope * x_mean;
    let squares: f64 = points
        .iter()
        .map(|point| (point.1 - at_zero - slope * point.0).powi(2))
        .sum();
    let variance = squares / (count - 2.0);
    let far = (x - x_mean).powi(2) / spread;
    let t = t_quantile(UPPER, count - 2.0);
    let half = t * (variance * (1.0 + 1.0 / count + far)).sqrt();
    let slope = around(slope, t * (variance / spread).sqrt());
    reading(at_zero + slope.value * x, half, at_zero, slope)
}

/// Returns the same for a line through the origin. It suits quantities that only grow with work.
pub(super) fn through_origin(points: &[(f64, f64)], x: f64) -> Option<Reading> {
    let count = points.len() as f64;
    let spread: f64 = points.iter().map(|point| point.0.powi(2)).sum();
    if points.len() < 2 || spread.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
        return None;
    }
    let slope = points.iter().map(|point| point.0 * point.1).sum::<f64>() / spread;
    let squares: f64 = points
        .iter()
        .map(|point| (point.1 - slope * point.0).powi(2))
        .sum();
    let error = (squares / (count - 1.0) / spread).sqrt();
    let half = t_quantile(UPPER, count - 1.0) * error;
    reading(slope * x, half * x, 0.0, around(slope, half))
}

fn around(value: f64, half: f64) -> Estimate {
    Estimate {
        value,
        low: Some(value - half),
        high: Some(value + half),
    }
}

fn reading(value: f64, half: f64, at_zero: f64, slope: Estimate) -> Option<Reading> {
    (value.is_finite() && half.is_finite()).then_some(Reading {
        at: Estimate {
            value: value.max(0.0),
            low: Some((value - half).max(0.0)),
            high: Some((value + half).max(0.0)),
        },
        at_zero,
        slope,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_lines_are_read_exactly_within_and_beyond_their_points() {
        let points: Vec<(f64, f64)> = (1..6)
            .map(|x| (f64::from(x), 3.0 + 2.0 * f64::from(x)))
            .collect();
        for (x, y) in [(2.5, 8.0), (100.0, 203.0)] {
            let found = line(&points, x).expect("a line");
            assert!((found.at.value - y).abs() < 1e-9);
            assert!(found.at.high.expect("high") - found.at.low.expect("low") < 1e-6);
        }
        let through: Vec<(f64, f64)> = (1..6).map(|x| (f64::from(x), 2.0 * f64::from(x))).collect();
        assert!((through_origin(&through, 50.0).expect("a line").at.value - 100.0).abs() < 1e-9);
    }

    #[test]
    fn the_interval_is_that_of_the_textbook_and_widens_with_distance() {
        let points = [(1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 3.0), (5.0, 6.0)];
        let at = |x: f64| line(&points, x).expect("a line").at;
        let half = |x: f64| at(x).high.expect("high") - at(x).value;
        // The half width at the mean of x: t(97.5 %, 3) = 3.182446, times the square root of the residual variance times (1 + 1/5). The
        // sum of squares of x around its mean is 10.
        let squares: f64 = points
            .iter()
            .map(|(x, y): &(f64, f64)| (y - 0.2 - x).powi(2))
            .sum();
        let wanted = 3.182_446 * (squares / 3.0 * 1.2).sqrt();
        assert!((half(3.0) - wanted).abs() < 1e-4, "{}", half(3.0));
        let slope = line(&points, 3.0).expect("a line").slope;
        let wanted = 3.182_446 * (squares / 3.0 / 10.0).sqrt();
        assert!((slope.high.expect("high") - slope.value - wanted).abs() < 1e-4);
        assert!(half(30.0) > 5.0 * half(3.0));
    }

    #[test]
    fn too_little_is_no_line_and_nothing_is_negative() {
        assert_eq!(line(&[(1.0, 1.0), (2.0, 2.0)], 1.0), None);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], 1.0), None);
        assert_eq!(line(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)], 1.0), None);
        assert_eq!(through_origin(&[(0.0, 1.0), (0.0, 2.0)], 1.0), None);
        let falling = [(1.0, 3.0), (2.0, 2.0), (3.0, 1.1)];
        let found = line(&falling, 50.0).expect("a line").at;
        assert_eq!((found.value, found.low), (0.0, Some(0.0)));
    }
}
