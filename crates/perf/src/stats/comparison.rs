//! What a comparison says, and its JSON.

use serde::{Deserialize, Serialize};

use crate::results::{Estimate, Machine};

/// Two or more sides, each compared with the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// One line for people.
    pub title: String,
    /// The sides, in the order given; the first is what the others are compared with.
    pub sides: Vec<Side>,
    /// How it was tested.
    pub test: Test,
    /// Every metric of every point, for each side but the first.
    pub metrics: Vec<Compared>,
    /// What was not tested, and why.
    pub left_out: Vec<LeftOut>,
    /// What people should know before they believe it, in words.
    pub notes: Vec<String>,
    /// Where it ran, if it was run for this comparison.
    pub machine: Option<Machine>,
    /// All that was random came from it.
    pub seed: u64,
}

impl Comparison {
    /// Whether anything changed.
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
    /// What it is: a file, settings, a binary.
    pub about: String,
}

/// How sides were tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// Which test.
    pub method: Method,
    /// Pairs (paired), or the fewest repeats of a side (unpaired).
    pub count: u32,
    /// The chance of any false finding among all metrics that was accepted.
    pub error_rate: f64,
    /// How many arrangements of signs were drawn, where they are too many to be counted; `None` if the chances are exact.
    pub drawn: Option<u32>,
}

/// Which test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Stretches in pairs, in an order by chance; signs flipped at random, the largest statistic of all metrics.
    #[default]
    PairedRandomOrder,
    /// Stretches in turns, in a fixed order: the same test, which then takes the noise of a pair for symmetric.
    PairedFixedOrder,
    /// Runs of their own: Welch's t-tests with Holm's correction. What differed between the runs beside the sides is not seen.
    Unpaired,
}

/// One metric of one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The point, empty without a sweep: `parties 4`.
    pub at: String,
    /// Which side is compared with the first, by its place in [`Comparison::sides`].
    pub side: usize,
    /// Its name in the document.
    pub metric: String,
    /// Of the first side, with its 95 % interval.
    pub before: Estimate,
    /// Of the other side.
    pub after: Estimate,
    /// What kind of change `change` is.
    pub scale: Scale,
    /// The change, with a 95 % interval of its own: after divided by before (the geometric mean of the pairs' ratios), or after less before.
    pub change: Estimate,
    /// The chance of a change at least as large, in any of the metrics, where nothing has changed.
    pub p: f64,
    /// What can be said.
    pub verdict: Verdict,
    /// The smallest change that would have been found four times of five with this noise, as a ratio (1.05) or a difference. `None` if
    /// no change could have been.
    pub seen_from: Option<f64>,
}

/// A test that sees only what is larger than this ratio sees nothing that anybody asks about: the stretches were too few.
const RATIO_SEEN_MAX: f64 = 10.0;

impl Compared {
    /// Whether only a change of more than tenfold would have been found.
    #[must_use]
    pub fn sees_too_little(&self) -> bool {
        let too_large = |ratio: f64| !(RATIO_SEEN_MAX.recip()..=RATIO_SEEN_MAX).contains(&ratio);
        self.scale == Scale::Ratio && self.seen_from.is_some_and(too_large)
    }
}

/// What kind of change is reckoned with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Ratios, of what is always above zero.
    #[default]
    Ratio,
    /// Differences, of what may be zero.
    Difference,
}

/// What can be said of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No change was shown, which does not say that there is none.
    #[default]
    NotShown,
    /// It rose.
    Higher,
    /// It fell.
    Lower,
}

/// What was not tested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The point.
    pub at: String,
    /// The metric; empty for all of the point.
    pub metric: String,
    /// Why, in words.
    pub why: String,
}
