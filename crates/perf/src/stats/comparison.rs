//! The result of a comparison, and its JSON.

use serde::{Deserialize, Serialize};

use crate::results::{Estimate, Machine};

/// Two or more sides, each compared with the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// One line for people.
    pub title: String,
    /// The sides, in the order given. The others are compared with the first.
    pub sides: Vec<Side>,
    /// The settings of the test.
    pub test: Test,
    /// Every metric of every point, for each side but the first.
    pub metrics: Vec<Compared>,
    /// The metrics that were not tested, with reasons.
    pub left_out: Vec<LeftOut>,
    /// Warnings about the comparison, in words.
    pub notes: Vec<String>,
    /// The machine it ran on, if it was run for this comparison.
    pub machine: Option<Machine>,
    /// The seed of all random choices.
    pub seed: u64,
}

impl Comparison {
    /// Returns whether anything changed.
    pub fn is_changed(&self) -> bool {
        let changed = |metric: &Compared| metric.verdict != Verdict::NotShown;
        self.metrics.iter().any(changed)
    }
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// A short name: `A`, or a case's.
    pub name: String,
    /// Its description: a file, settings, a binary.
    pub about: String,
}

/// The settings of the test of sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// The test.
    pub method: Method,
    /// Pairs (paired), or the fewest repeats of a side (unpaired).
    pub count: u32,
    /// The accepted chance of any false finding among all metrics.
    pub error_rate: f64,
    /// The number of random arrangements of signs, if there are too many to enumerate; `None` if the chances are exact.
    pub drawn: Option<u32>,
}

/// The statistical test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Stretches in pairs, in random order: signs flipped at random, the largest statistic of all metrics.
    #[default]
    PairedRandomOrder,
    /// Stretches in turns, in a fixed order: the same test, which then assumes that the noise of a pair is symmetric.
    PairedFixedOrder,
    /// Separate runs: Welch's t-tests with Holm's correction. Other differences between the runs cannot be separated from
    /// the sides.
    Unpaired,
}

/// One metric of one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The point, empty without a sweep: `parties 4`.
    pub at: String,
    /// The side that is compared with the first, by its index in [`Comparison::sides`].
    pub side: usize,
    /// Its name in the document.
    pub metric: String,
    /// The first side's value, with its 95 % interval.
    pub before: Estimate,
    /// The other side's value.
    pub after: Estimate,
    /// The scale of `change`.
    pub scale: Scale,
    /// The change with its own 95 % interval: after divided by before (the geometric mean of the pairs' ratios), or after
    /// less before.
    pub change: Estimate,
    /// The chance of a change at least as large, in any of the metrics, if nothing has changed.
    pub p: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The smallest change that would have been found four times out of five with this noise, as a ratio (1.05) or a
    /// difference. `None` if no change could have been found.
    pub seen_from: Option<f64>,
}

/// If a test detects only ratios above this one, it detects no change of practical interest: there were too few
/// stretches.
const RATIO_SEEN_MAX: f64 = 10.0;

impl Compared {
    /// Returns whether only a change of more than tenfold would have been found.
    #[must_use]
    pub fn sees_too_little(&self) -> bool {
        let too_large = |ratio: f64| !(RATIO_SEEN_MAX.recip()..=RATIO_SEEN_MAX).contains(&ratio);
        self.scale == Scale::Ratio && self.seen_from.is_some_and(too_large)
    }
}

/// The scale of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Ratios, for metrics that are always above zero.
    #[default]
    Ratio,
    /// Differences, for metrics that may be zero.
    Difference,
}

/// The verdict on a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No change was shown. There may still be one.
    #[default]
    NotShown,
    /// It rose.
    Higher,
    /// It fell.
    Lower,
}

/// A metric that was not tested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The point.
    pub at: String,
    /// The metric; empty for all of the point.
    pub metric: String,
    /// The reason, in words.
    pub why: String,
}
