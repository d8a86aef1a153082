//! The unpaired test, for separate runs: Welch's t-test of each metric, with Holm's correction over all.

use super::interval::moments;
use super::student::{t_below, t_quantile};

/// Figures come from histograms and clocks with three digits. Equal values in a sample are no more precise than that.
const RESOLUTION: f64 = 5e-4;

/// Two samples' difference of means, with its standard error and degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Welch {
    pub difference: f64,
    pub error: f64,
    pub freedom: f64,
}

impl Welch {
    /// Compares `a` and `b`, each of at least two values. The difference is b's mean less a's. `floor` is the minimum
    /// standard deviation assumed for either.
    pub fn of(a: &[f64], b: &[f64], floor: f64) -> Option<Self> {
        if a.len() < 2 || b.len() < 2 {
            return None;
        }
        let part = |values: &[f64]| {
            let (mean, variance) = moments(values);
            (mean, variance.max(floor * floor) / values.len() as f64)
        };
        let ((a_mean, a_part), (b_mean, b_part)) = (part(a), part(b));
        let squared = a_part + b_part;
        let freedom = squared * squared
            / (a_part * a_part / (a.len() as f64 - 1.0) + b_part * b_part / (b.len() as f64 - 1.0));
        let welch = Self {
            difference: b_mean - a_mean,
            error: squared.sqrt(),
            freedom,
        };
        (welch.error > 0.0 && freedom.is_finite()).then_some(welch)
    }

    /// Returns the chance of a difference at least as large, either way, between samples with equal means.
    pub fn p(&self) -> f64 {
        2.0 * t_below(-(self.difference / self.error).abs(), self.freedom)
    }

    /// Returns half the width of the 95 % interval of the difference.
    pub fn half(&self) -> f64 {
        t_quantile(0.975, self.freedom) * self.error
    }
}

/// Returns the minimum standard deviation of a logarithm, or of values around `mean`.
pub(super) fn floor(logarithms: bool, mean: f64) -> f64 {
    if logarithms {
        RESOLUTION
    } else {
        RESOLUTION * mean.abs().max(RESOLUTION)
    }
}

/// Applies Holm's correction: chances over all tests together, in the order given.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|x, y| p[*x].total_cmp(&p[*y]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 0.0f64;
    for (place, at) in order.iter().enumerate() {
        least = least.max((p[*at] * (p.len() - place) as f64).min(1.0));
        adjusted[*at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn welch_is_that_of_the_textbook() {
        // Worked by hand: means 3 and 7, variances 2.5 and 10, five values each.
        let a = [1.0, 2.0, 3.0, 4.0, 5.0];
        let b = [3.0, 5.0, 7.0, 9.0, 11.0];
        let welch = Welch::of(&a, &b, 0.0).expect("enough");
        assert!((welch.difference - 4.0).abs() < 1e-12);
        assert!((welch.error - 2.5f64.sqrt()).abs() < 1e-12);
        assert!((welch.freedom - 5.882_352_9).abs() < 1e-6);
        assert!((welch.p() - 0.045_3).abs() < 5e-4, "{}", welch.p());
        assert_eq!(Welch::of(&a[..1], &b, 0.0), None);
        assert_eq!(
            Welch::of(&[1.0, 1.0], &[2.0, 2.0], 0.0),
            None,
            "no noise, no test"
        );
    }

    #[test]
    fn equal_values_are_not_certain() {
        let welch = Welch::of(&[0.0, 0.0], &[0.001, 0.001], floor(true, 0.0)).expect("enough");
        assert!(
            welch.p() > 0.05,
            "two steps of a histogram apart: {}",
            welch.p()
        );
    }

    #[test]
    fn holm_steps_down() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
