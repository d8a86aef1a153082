//! The verdict whether the rate of a stretch was steady.

use super::drift::rates;
use super::line::{block_means, fit};
use crate::results::{Estimate, Stretch};

/// A rate that changes by no more than this share over the stretch is steady.
pub const STEADY_WITHIN: f64 = 0.05;
/// A shorter stretch gets no verdict, in seconds.
pub const STEADY_SECONDS_MIN: f64 = 30.0;
/// Blocks of seconds whose means the line goes through, and the fewest of them.
const BLOCKS: usize = 20;
const BLOCKS_MIN: usize = 8;

/// Whether a rate was steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steady {
    /// The whole interval of its change is within [`STEADY_WITHIN`].
    Stable,
    /// The interval of its change excludes 0, and is not within those limits.
    Drifting,
    /// The interval is too wide for a verdict.
    Unclear,
}

impl Steady {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Steady::Stable => "stable",
            Steady::Drifting => "drifting",
            Steady::Unclear => "unclear",
        }
    }
}

/// Judges the rate of a stretch: a line through the means of 20 blocks, and the 95 % interval of its change from the beginning to the end, as a
/// share of the mean rate. This is a test of equivalence: noise alone never makes a rate stable. `None` for a short stretch, and for an
/// open loop or a search, whose rate is set.
pub fn steadiness(stretch: &Stretch) -> Option<(Steady, Estimate)> {
    let is_set = stretch.generator.late_after_ms > 0.0 || !stretch.tried.is_empty();
    if stretch.seconds < STEADY_SECONDS_MIN || is_set {
        return None;
    }
    let points = rates(stretch);
    let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len().max(1) as f64;
    let blocks = block_means(&points, BLOCKS);
    if blocks.len() < BLOCKS_MIN || mean <= 0.0 {
        return None;
    }
    let line = fit(&blocks)?;
    let length_ms = points.last()?.0 - points.first()?.0;
    let share = |slope: f64| slope * length_ms / mean;
    let change = Estimate {
        value: share(line.slope.value),
        low: line.slope.low.map(share),
        high: line.slope.high.map(share),
    };
    let (low, high) = change.low.zip(change.high)?;
    let verdict = if low >= -STEADY_WITHIN && high <= STEADY_WITHIN {
        Steady::Stable
    } else if low > 0.0 || high < 0.0 {
        Steady::Drifting
    } else {
        Steady::Unclear
    };
    Some((verdict, change))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Second;

    fn stretch(seconds: u64, rate: impl Fn(u64) -> u64) -> Stretch {
        Stretch {
            seconds: seconds as f64,
            series: (0..=seconds)
                .map(|at| Second {
                    at_ms: at * 1_000,
                    done: rate(at),
                    ..Second::default()
                })
                .collect(),
            ..Stretch::default()
        }
    }

    #[test]
    fn verdicts() {
        // Spread over 11 values without a trend.
        let noise = |at: u64, width: u64| at * at * 7_919 % 101 * width / 101;
        for (name, stretch, expected) in [
            ("short", stretch(20, |_| 1_000), None),
            ("level", stretch(60, |_| 1_000), Some(Steady::Stable)),
            (
                "a little noise",
                stretch(300, |at| 1_000 + noise(at, 40)),
                Some(Steady::Stable),
            ),
            (
                "falls by a third",
                stretch(60, |at| 1_200 - at * 6),
                Some(Steady::Drifting),
            ),
            (
                "rises in noise",
                stretch(300, |at| 1_000 + at + noise(at, 100)),
                Some(Steady::Drifting),
            ),
            (
                "all noise",
                stretch(60, |at| 100 + noise(at, 900)),
                Some(Steady::Unclear),
            ),
            ("nothing done", stretch(60, |_| 0), None),
        ] {
            let found = steadiness(&stretch);
            assert_eq!(
                found.as_ref().map(|found| found.0),
                expected,
                "{name}: {found:?}"
            );
        }
        let mut search = stretch(60, |_| 1_000);
        search.tried.push((100.0, true));
        assert_eq!(steadiness(&search), None);
        let mut open = stretch(60, |_| 1_000);
        open.generator.late_after_ms = 5.0;
        assert_eq!(steadiness(&open), None);
    }

    #[test]
    fn the_change_is_a_share_of_the_mean() {
        let (_, change) = steadiness(&stretch(100, |at| 1_100 - at * 2)).expect("long enough");
        // From 1100 to 902 in the 99 whole seconds, around a mean of 1001.
        assert!((change.value + 0.198).abs() < 0.002, "{change:?}");
    }
}
