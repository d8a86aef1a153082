//! How a figure grows along an axis, and how many times larger one is than another, from the repeats of each.

use super::line::fit;
use super::welch::{Welch, floor};
use crate::results::Estimate;

/// Returns the exponent of the power law through positive places and values: 1 if a value grows in proportion to its place,
/// 2 if it grows by its square. `None` with fewer than three different places, or if one is not positive.
pub fn exponent(points: &[(f64, f64)]) -> Option<Estimate> {
    let is_positive = |(x, y): &(f64, f64)| *x > 0.0 && *y > 0.0;
    let mut places: Vec<f64> = points.iter().map(|(x, _)| *x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    if places.len() < 3 || !points.iter().all(is_positive) {
        return None;
    }
    let mut logarithms: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    logarithms.sort_by(|one, two| one.0.total_cmp(&two.0));
    fit(&logarithms).map(|line| line.slope)
}

/// How many times one figure is another.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// The factor, with the 95 % interval of Welch's test. It has no interval if either has one repeat.
    pub factor: Estimate,
    /// The chance of a factor at least as far from 1 if they do not differ; `None` without an interval.
    pub p: Option<f64>,
}

/// Returns how many times `above` is `below`, by the geometric means of their repeats. `None` if either has none, or one that is not
/// positive.
pub fn times(above: &[f64], below: &[f64]) -> Option<Times> {
    let logarithms = |values: &[f64]| -> Option<Vec<f64>> {
        let all_positive = values.iter().all(|value| *value > 0.0 && value.is_finite());
        (all_positive && !values.is_empty())
            .then(|| values.iter().map(|value| value.ln()).collect())
    };
    let (above, below) = (logarithms(above)?, logarithms(below)?);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let difference = mean(&above) - mean(&below);
    let welch = Welch::of(&below, &above, floor(true, 0.0));
    let half = welch.as_ref().map(Welch::half);
    Some(Times {
        factor: Estimate {
            value: difference.exp(),
            low: half.map(|half| (difference - half).exp()),
            high: half.map(|half| (difference + half).exp()),
        },
        p: welch.as_ref().map(Welch::p),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_found_with_its_exponent() {
        for (points, expected) in [
            (&[(1.0, 5.0), (2.0, 10.0), (4.0, 20.0)][..], Some(1.0)),
            (&[(4.0, 1.0), (1.0, 16.0), (2.0, 4.0)], Some(-2.0)),
            (&[(1.0, 7.0), (3.0, 7.0), (9.0, 7.0)], Some(0.0)),
            (&[(1.0, 1.0), (2.0, 2.0)], None),
            (&[(1.0, 1.0), (1.0, 1.1), (2.0, 2.0), (2.0, 2.2)], None),
            (&[(0.0, 1.0), (1.0, 1.0), (2.0, 2.0)], None),
            (&[(1.0, 0.0), (2.0, 1.0), (3.0, 2.0)], None),
        ] {
            let found = exponent(points).map(|one| one.value);
            let is_near = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-9,
                (found, expected) => found == expected,
            };
            assert!(is_near, "{points:?}: {found:?}");
        }
        let noisy = [
            (1.0, 1.0),
            (1.0, 1.2),
            (2.0, 2.0),
            (2.0, 2.3),
            (4.0, 4.1),
            (4.0, 3.8),
        ];
        let found = exponent(&noisy).expect("six points");
        let (low, high) = found.low.zip(found.high).expect("an interval");
        assert!(low < 1.0 && 1.0 < high && high - low < 0.5, "{found:?}");
    }

    #[test]
    fn a_factor_has_an_interval_if_both_have_repeats() {
        for (above, below, value, has_interval) in [
            (&[20.0, 20.0][..], &[10.0, 10.0][..], Some(2.0), true),
            (&[20.0], &[10.0, 10.0], Some(2.0), false),
            (&[], &[10.0], None, false),
            (&[1.0, 0.0], &[10.0, 11.0], None, false),
            (&[1.0, f64::NAN], &[10.0, 11.0], None, false),
        ] {
            let found = times(above, below);
            let p = found.as_ref().and_then(|one| one.p);
            let found = found.map(|one| one.factor);
            assert_eq!(p.is_some(), has_interval);
            assert_eq!(
                found.as_ref().map(|one| (one.value * 1e9).round() / 1e9),
                value
            );
            assert_eq!(found.is_some_and(|one| one.low.is_some()), has_interval);
        }
        let found = times(&[21.0, 19.0, 20.0], &[9.0, 11.0, 10.0]).expect("repeats");
        assert!(found.p < Some(0.01), "{found:?}");
        let found = found.factor;
        let (low, high) = found.low.zip(found.high).expect("an interval");
        assert!(
            1.5 < low && low < 2.0 && 2.0 < high && high < 2.7,
            "{found:?}"
        );
    }
}
