//! Compares the stretches of two or more sides: the changes beyond noise, and the smallest detectable changes.

use std::collections::BTreeMap;

use primitives::{Coded, ErrorInfo};
use thiserror::Error;

use super::comparison::{Compared, Comparison, LeftOut, Method, Scale, Side, Test, Verdict};
use super::flips;
use super::interval::{geometric_mean, mean_interval, moments};
use super::student::t_quantile;
use super::summary::figures;
use super::welch::{Welch, floor, holm};
use crate::results::{Estimate, Stretch};

/// The accepted chance of any false finding among all metrics of a comparison.
pub const ERROR_RATE: f64 = 0.01;
/// Minimum number of pairs. With ten, the chance that all agree in sign is 2 in 1,024.
pub const PAIRS_MIN: usize = 10;
/// Upper limit on sides, so that ten pairs can still find changes in each.
pub const SIDES_MAX: usize = 6;
/// Upper limit on metrics of points tested together. The test holds the statistics of 20,000 arrangements of each.
const COLUMNS_MAX: usize = 500;
/// The probability of finding a change of the size in [`Compared::seen_from`].
const POWER: f64 = 0.8;

/// The compared metrics. Left out are metrics that follow from others (states a second, the ceiling), that say nothing of the system
/// (the generator's own use), or that depend on a single unit (the maximum).
pub const COMPARED: [(&str, Scale); 17] = [
    ("rate_per_s", Scale::Ratio),
    ("mean_ms", Scale::Ratio),
    ("p50_ms", Scale::Ratio),
    ("p90_ms", Scale::Ratio),
    ("p95_ms", Scale::Ratio),
    ("p99_ms", Scale::Ratio),
    ("knee_per_s", Scale::Ratio),
    ("error_share", Scale::Difference),
    ("dropped_share", Scale::Difference),
    ("late_share", Scale::Difference),
    ("retries_per_unit", Scale::Difference),
    ("cpu_us_per_unit", Scale::Ratio),
    ("serial_us_per_unit", Scale::Ratio),
    ("commits_per_unit", Scale::Ratio),
    ("disk_bytes_per_unit", Scale::Ratio),
    ("sent_mbit_per_s", Scale::Ratio),
    ("rss_mb_max", Scale::Ratio),
];

/// Codes of comparisons.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: CHANGED,
        cause: "A comparison with --fail-on-change found a change.",
        action: "Read which metrics changed and by how much; if the change is wanted, compare with a newer report from now on.",
    },
    ErrorInfo {
        code: "lab.compare_mixed",
        cause: "A comparison was given reports and scenarios together, or options that only one of them takes.",
        action: "Compare reports with reports, or scenarios with scenarios: those are run side by side.",
    },
    ErrorInfo {
        code: "lab.compare_nothing",
        cause: "The sides of a comparison have no point in common, or no metric that both have.",
        action: "Compare runs of the same scenario, or cases of one axis with --axis.",
    },
    ErrorInfo {
        code: "lab.compare_repeats",
        cause: "A side of a comparison has too few repeats: pairs need ten, separate runs two of each point.",
        action: "Run with more repeats (--set run.repeats=10), or let `tally lab compare` run the scenarios itself.",
    },
    ErrorInfo {
        code: "lab.compare_sides",
        cause: "A comparison has fewer than two sides, or more than six.",
        action: "Name two to six reports, scenario files or cases; one scenario needs --set-b, --binary-b or --axis.",
    },
    ErrorInfo {
        code: SELFTEST_FAILED,
        cause: "The laboratory's comparison found changes between runs of the same, or missed one that was put there.",
        action: "Run it again on a quiet machine with another --seed; if it fails again, believe no comparison made there and report it.",
    },
];

/// A comparison found a change, and the caller asked to fail then.
pub const CHANGED: &str = "lab.changed";
/// The comparison's own test failed.
pub const SELFTEST_FAILED: &str = "lab.selftest_failed";

/// Why a comparison is impossible.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CompareError {
    /// The sides have nothing in common.
    #[error("the sides have nothing in common that could be compared: {0}")]
    Nothing(String),
    /// Too few repeats.
    #[error("{have} of {needed} {what} that a comparison needs")]
    Repeats {
        /// The number present.
        have: usize,
        /// The number required.
        needed: usize,
        /// `pairs`, or the repeats of a side.
        what: String,
    },
    /// Too few sides, or too many.
    #[error("{0} sides; a comparison has 2 to {SIDES_MAX}")]
    Sides(usize),
}

impl Coded for CompareError {
    fn code(&self) -> &'static str {
        match self {
            CompareError::Nothing(_) => "lab.compare_nothing",
            CompareError::Repeats { .. } => "lab.compare_repeats",
            CompareError::Sides(_) => "lab.compare_sides",
        }
    }

    fn hint(&self) -> &'static str {
        let info = ERRORS.iter().find(|info| info.code == self.code());
        info.map_or("", |info| info.action)
    }
}

/// One point as measured by each side.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The point, for people; empty without a sweep.
    pub at: String,
    /// Its stretches by side. In a paired comparison, stretches at the same index belong to one round.
    pub stretches: Vec<Vec<Stretch>>,
}

/// How the stretches were ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// In rounds with one stretch per side, in random order.
    Random,
    /// In rounds, always in the same order.
    Fixed,
    /// In separate runs.
    Separate,
}

/// A figure by metric for each stretch.
type Figures = BTreeMap<&'static str, Vec<Option<f64>>>;

/// One metric of one point for two sides.
struct Column {
    at: String,
    side: usize,
    metric: &'static str,
    scale: Scale,
    before: Vec<f64>,
    after: Vec<f64>,
}

/// Compares each side with the first, over all metrics and points together.
///
/// # Errors
/// `lab.compare_sides`, `lab.compare_repeats` and `lab.compare_nothing`.
pub fn compare(
    sides: Vec<Side>,
    cases: &[Case],
    design: Design,
    seed: u64,
) -> Result<Comparison, CompareError> {
    if !(2..=SIDES_MAX).contains(&sides.len()) {
        return Err(CompareError::Sides(sides.len()));
    }
    let count = repeats(&sides, cases, design)?;
    // Each of several comparisons gets its share of the accepted error rate.
    let error_rate = ERROR_RATE / (sides.len() - 1) as f64;
    let mut comparison = Comparison {
        sides,
        test: Test {
            method: match design {
                Design::Random => Method::PairedRandomOrder,
                Design::Fixed => Method::PairedFixedOrder,
                Design::Separate => Method::Unpaired,
            },
            count: u32::try_from(count).expect("a report has fewer repeats"),
            error_rate: ERROR_RATE,
            drawn: None,
        },
        seed,
        ..Comparison::default()
    };
    for side in 1..comparison.sides.len() {
        let mut columns = Vec::new();
        for case in cases {
            columns.extend(columns_of(
                case,
                side,
                design,
                count,
                &mut comparison.left_out,
            ));
        }
        let beyond = columns.drain(COLUMNS_MAX.min(columns.len())..);
        comparison.left_out.extend(beyond.map(|column| LeftOut {
            at: column.at,
            metric: column.metric.to_owned(),
            why: format!("more than {COLUMNS_MAX} metrics of points are not tested together"),
        }));
        let tested = match design {
            Design::Separate => unpaired(columns, error_rate),
            _ => paired(columns, error_rate, seed, &mut comparison.test),
        };
        comparison.metrics.extend(tested);
    }
    if comparison.metrics.is_empty() {
        let why = comparison.left_out.first().map(|left| left.why.clone());
        return Err(CompareError::Nothing(
            why.unwrap_or_else(|| "no points".to_owned()),
        ));
    }
    Ok(comparison)
}

/// Returns the number of rounds that all sides have for all points, or the fewest repeats.
fn repeats(sides: &[Side], cases: &[Case], design: Design) -> Result<usize, CompareError> {
    let lengths = cases
        .iter()
        .flat_map(|case| case.stretches.iter().map(Vec::len));
    // Without points there are no repeats, which is an error below.
    let have = lengths.min().unwrap_or(0);
    let (needed, what) = match design {
        Design::Separate => (2, "repeats of each point".to_owned()),
        _ => (PAIRS_MIN, "pairs".to_owned()),
    };
    let whole = cases.iter().all(|case| case.stretches.len() == sides.len());
    if cases.is_empty() || !whole {
        return Err(CompareError::Nothing(
            "no point that all sides have".to_owned(),
        ));
    }
    if have < needed {
        return Err(CompareError::Repeats { have, needed, what });
    }
    Ok(have)
}

fn figures_of(stretches: &[Stretch]) -> Figures {
    let mut found = Figures::new();
    for (place, stretch) in stretches.iter().enumerate() {
        for (name, value) in figures(stretch, 0.0) {
            let values = found
                .entry(name)
                .or_insert_with(|| vec![None; stretches.len()]);
            values[place] = Some(value).filter(|value| value.is_finite());
        }
    }
    found
}

/// Returns the metrics of a point that can be tested between the first side and another. The others are noted as left
/// out.
fn columns_of(
    case: &Case,
    side: usize,
    design: Design,
    count: usize,
    left_out: &mut Vec<LeftOut>,
) -> Vec<Column> {
    let rounds = |stretches: &Vec<Stretch>| match design {
        Design::Separate => figures_of(stretches),
        _ => figures_of(&stretches[..count]),
    };
    let (before, after) = (rounds(&case.stretches[0]), rounds(&case.stretches[side]));
    let mut columns = Vec::new();
    for (metric, scale) in COMPARED {
        let (Some(before), Some(after)) = (before.get(metric), after.get(metric)) else {
            if before.contains_key(metric) != after.contains_key(metric) {
                let why = "only one side has it".to_owned();
                left_out.push(LeftOut {
                    at: case.at.clone(),
                    metric: metric.to_owned(),
                    why,
                });
            }
            continue;
        };
        let whole: Option<(Vec<f64>, Vec<f64>)> = before
            .iter()
            .copied()
            .collect::<Option<_>>()
            .zip(after.iter().copied().collect());
        let Some((before, after)) = whole else {
            let why =
                "some stretches lack it: nothing was completed, or nothing was seen".to_owned();
            left_out.push(LeftOut {
                at: case.at.clone(),
                metric: metric.to_owned(),
                why,
            });
            continue;
        };
        let all = || before.iter().chain(&after);
        if all().all(|value| *value == 0.0) {
            continue;
        }
        // A ratio with zero is meaningless; a difference is not.
        let scale = if all().any(|value| *value <= 0.0) {
            Scale::Difference
        } else {
            scale
        };
        columns.push(Column {
            at: case.at.clone(),
            side,
            metric,
            scale,
            before,
            after,
        });
    }
    columns
}

impl Column {
    /// Converts a value to the scale of the test: its logarithm for ratios.
    fn reckoned(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Ratio => value.ln(),
            Scale::Difference => value,
        }
    }

    fn side(&self, values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| self.reckoned(*value)).collect()
    }

    fn differences(&self) -> Vec<f64> {
        let pairs = self.before.iter().zip(&self.after);
        pairs
            .map(|(before, after)| self.reckoned(*after) - self.reckoned(*before))
            .collect()
    }

    /// Converts a change from the scale of the test.
    fn shown(&self, reckoned: f64) -> f64 {
        match self.scale {
            Scale::Ratio => reckoned.exp(),
            Scale::Difference => reckoned,
        }
    }

    fn compared(
        self,
        change: Estimate,
        p: f64,
        error_rate: f64,
        seen_from: Option<f64>,
    ) -> Compared {
        let nothing = self.shown(0.0);
        let verdict = match p <= error_rate {
            true if change.value > nothing => Verdict::Higher,
            true if change.value < nothing => Verdict::Lower,
            _ => Verdict::NotShown,
        };
        let mean = |values: &[f64]| mean_interval(values).expect("a column has finite values");
        Compared {
            before: mean(&self.before),
            after: mean(&self.after),
            seen_from: seen_from.map(|reckoned| self.shown(reckoned)),
            at: self.at,
            side: self.side,
            metric: self.metric.to_owned(),
            scale: self.scale,
            change,
            p,
            verdict,
        }
    }
}

fn paired(columns: Vec<Column>, error_rate: f64, seed: u64, test: &mut Test) -> Vec<Compared> {
    let differences: Vec<Vec<f64>> = columns.iter().map(Column::differences).collect();
    let found = flips::test(&differences, error_rate, seed);
    test.drawn = found.drawn.and_then(|drawn| u32::try_from(drawn).ok());
    let all = columns
        .into_iter()
        .zip(differences)
        .zip(found.p)
        .zip(found.t_needed);
    all.map(|(((column, differences), p), t_needed)| {
        let ratios: Vec<f64> = differences
            .iter()
            .map(|difference| column.shown(*difference))
            .collect();
        let change = match column.scale {
            Scale::Ratio => geometric_mean(&ratios),
            Scale::Difference => mean_interval(&ratios),
        };
        let count = differences.len() as f64;
        let error = (moments(&differences).1 / count).sqrt();
        let seen_from = t_needed.map(|t| (t + t_quantile(POWER, count - 1.0)) * error);
        // Only ratios beyond the range of floats have no mean.
        column.compared(change.unwrap_or_default(), p, error_rate, seen_from)
    })
    .collect()
}

fn unpaired(columns: Vec<Column>, error_rate: f64) -> Vec<Compared> {
    let tested: Vec<(Column, Welch)> = columns
        .into_iter()
        .filter_map(|column| {
            let (before, after) = (column.side(&column.before), column.side(&column.after));
            let mean = moments(&column.before).0.max(moments(&column.after).0);
            let least = floor(column.scale == Scale::Ratio, mean);
            Welch::of(&before, &after, least).map(|welch| (column, welch))
        })
        .collect();
    let p = holm(
        &tested
            .iter()
            .map(|(_, welch)| welch.p())
            .collect::<Vec<_>>(),
    );
    let found = p.iter().filter(|p| **p <= error_rate).count();
    // Holm's significance level for a metric that was not found.
    let each = error_rate / (tested.len() - found).max(1) as f64;
    tested
        .into_iter()
        .zip(p)
        .map(|((column, welch), p)| {
            let change = Estimate {
                value: column.shown(welch.difference),
                low: Some(column.shown(welch.difference - welch.half())),
                high: Some(column.shown(welch.difference + welch.half())),
            };
            let needed =
                t_quantile(1.0 - each / 2.0, welch.freedom) + t_quantile(POWER, welch.freedom);
            column.compared(change, p, error_rate, Some(needed * welch.error))
        })
        .collect()
}
