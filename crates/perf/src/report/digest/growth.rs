//! How the main figure of a sweep grows along a numeric axis, and how the cases compare with a base case.

use serde::Serialize;

use super::conditions::plans;
use crate::plan::is_same_work;
use crate::report::headline::{base, is_numeric, main_metric};
use crate::report::units::{Better, Metric};
use crate::results::{Estimate, Point, Scenario};
use crate::stats::{exponent, holm, repeats_of, times};

/// The accepted chance of any false difference among the comparisons with base cases.
const ERROR_RATE: f64 = 0.05;
/// Comparisons with a base case at most; the table of metrics has all points.
const SPEED_UPS_MAX: usize = 60;

/// The growth of the main figure along the first axis, for one combination of the cases of the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The cases of the other axes; empty if there are none.
    pub series: String,
    /// The exponent of the fitted power law: `value`, with the 95 % interval from `low` to `high`.
    #[serde(flatten)]
    pub exponent: Estimate,
}

/// How many times better the main figure of a point is than that of the base case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedUp {
    /// The point.
    pub at: String,
    /// The base case.
    pub than: String,
    /// The factor: `value`, with its own 95 % interval from `low` to `high`. Above 1 is better.
    #[serde(flatten)]
    pub factor: Estimate,
    /// The chance of a factor at least as far from 1 in any of the comparisons, if no point differs from its base case; null if one of both
    /// has a single repeat.
    pub p: Option<f64>,
}

impl SpeedUp {
    /// Returns whether a difference is shown, with all comparisons of the scenario taken into account.
    pub fn is_shown(&self) -> bool {
        self.p.is_some_and(|p| p <= ERROR_RATE)
    }
}

/// Returns the growth of each series along a numeric axis with at least three places.
pub(super) fn growth(scenario: &Scenario) -> Vec<Growth> {
    if scenario.axes.is_empty() || !is_numeric(scenario) {
        return Vec::new();
    }
    let metric = main_metric(scenario);
    let mut all: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for point in &scenario.points {
        let Some(x) = point.at.first().and_then(|case| case.number) else {
            continue;
        };
        let values = repeats_of(point, metric).into_iter();
        let values = values.map(|value| (x, value));
        let name = names(point, 1);
        match all.iter_mut().find(|(series, _)| *series == name) {
            Some((_, points)) => points.extend(values),
            None => all.push((name, values.collect())),
        }
    }
    let fitted = all.into_iter().filter_map(|(series, points)| {
        let exponent = exponent(&points)?;
        Some(Growth { series, exponent })
    });
    fitted.collect()
}

/// Returns the comparison of each point with its base case:
/// - On a first axis of names, the base case of that axis with the same cases of the other axes.
/// - On a numeric first axis with others, the first combination of the others at the same place.
/// - On a numeric axis alone, the first place.
///
/// A point that does other work than its base case is left out: its figures differ for that reason alone. The chances are corrected by
/// Holm's method for the number of comparisons.
pub(super) fn speed_ups(scenario: &Scenario) -> Vec<SpeedUp> {
    let metric = Metric::named(main_metric(scenario));
    let Some(better) = metric.better else {
        return Vec::new();
    };
    let Some(first) = scenario.points.first() else {
        return Vec::new();
    };
    let base_name = base(scenario).unwrap_or_default();
    let is_numeric = is_numeric(scenario);
    let base_of = |point: &Point| {
        let mut points = scenario.points.iter();
        points.find(|other| match (is_numeric, scenario.axes.len()) {
            (_, 0) => false,
            (true, 1) => std::ptr::eq(*other, first),
            (true, _) => {
                other.at.first() == point.at.first()
                    && other.at.iter().skip(1).eq(first.at.iter().skip(1))
            }
            (false, _) => {
                let name = other.at.first().map(|case| case.name.as_str());
                name == Some(base_name) && other.at.iter().skip(1).eq(point.at.iter().skip(1))
            }
        })
    };
    let plans = plans(scenario);
    let plan_of = |point: &Point| plans.iter().find(|one| one.at == point.at);
    let is_same_work = |one: &Point, two: &Point| {
        let plans = plan_of(one).zip(plan_of(two));
        plans.is_some_and(|(one, two)| is_same_work(&one.plan, &two.plan))
    };
    let compared = scenario.points.iter().filter_map(|point| {
        let base = base_of(point).filter(|base| !std::ptr::eq(*base, point))?;
        if !is_same_work(point, base) {
            return None;
        }
        let of = |point: &Point| repeats_of(point, &metric.name);
        let times = match better {
            Better::Higher => times(&of(point), &of(base)),
            Better::Lower => times(&of(base), &of(point)),
        }?;
        // The cases that both share are named once.
        let than = match (is_numeric, scenario.axes.len()) {
            (true, 1) => format!("{} = {}", scenario.axes[0], names(base, 0)),
            (true, _) => names(base, 1),
            (false, _) => base_name.to_owned(),
        };
        Some(SpeedUp {
            at: crate::report::headline::place(point),
            than,
            factor: times.factor,
            p: times.p,
        })
    });
    let mut compared: Vec<SpeedUp> = compared.take(SPEED_UPS_MAX).collect();
    let tested = compared.iter_mut().filter_map(|one| one.p.as_mut());
    let tested: Vec<&mut f64> = tested.collect();
    let corrected = holm(&tested.iter().map(|p| **p).collect::<Vec<f64>>());
    for (p, corrected) in tested.into_iter().zip(corrected) {
        *p = corrected;
    }
    compared
}

/// Returns the names of a point's cases from an axis on.
fn names(point: &Point, from: usize) -> String {
    let names: Vec<&str> = point
        .at
        .iter()
        .skip(from)
        .map(|case| case.name.as_str())
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CaseResult, Estimate, Histogram, Stretch};

    /// Returns a scenario with this sweep, whose points have these positions, and two repeats of these mean latencies in milliseconds.
    fn scenario(sweep: &str, axes: &[&str], points: &[(&[&str], u64)]) -> Scenario {
        let stretch = |us: u64| Stretch {
            done: 10,
            seconds: 1.0,
            latencies: Histogram {
                buckets: [(us, 10)].into(),
            },
            ..Stretch::default()
        };
        let point = |(names, ms): &(&[&str], u64)| Point {
            at: axes
                .iter()
                .zip(*names)
                .map(|(axis, name)| CaseResult {
                    axis: (*axis).to_owned(),
                    name: (*name).to_owned(),
                    number: name.parse().ok(),
                })
                .collect(),
            stretches: vec![stretch(ms * 1_000); 2],
            summary: crate::results::Summary {
                metrics: [("mean_ms".to_owned(), Estimate::default())].into(),
            },
            ..Point::default()
        };
        Scenario {
            axes: axes.iter().map(|axis| (*axis).to_owned()).collect(),
            points: points.iter().map(point).collect(),
            main_metric: "mean_ms".to_owned(),
            source: format!("[work]\nkind = 'swap'\nparties = 2\n{sweep}"),
            ..Scenario::default()
        }
    }

    const OUTSTANDING: &str =
        "[[sweep]]\nlabel = 'outstanding'\nset = 'load.outstanding'\nvalues = [2, 4, 8]\n";
    const PARTIES: &str =
        "[[sweep]]\nlabel = 'parties'\nset = 'work.parties'\nvalues = [2, 4, 8]\n";
    const SPEEDS: &str = "[[sweep]]\nlabel = 'variant'\n[[sweep.case]]\nname = 'slow'\nset.work.sessions = 'sequential'\n\
                          [[sweep.case]]\nname = 'fast'\nset.work.sessions = 'parallel'\n";
    const VARIANTS: &str = "[[sweep]]\nlabel = 'variant'\n[[sweep.case]]\nname = 'a'\nset.work.resolution = 'single'\n\
                            [[sweep.case]]\nname = 'deep'\nset.work.depth = 5\n[[sweep.case]]\nname = 'default'\n";

    fn rounded(value: f64) -> f64 {
        (value * 1000.0).round() / 1000.0
    }

    #[test]
    fn states_a_second_grow_with_the_states_of_a_transaction() {
        let point = |states: u64| {
            // Half the rate for four times the states.
            let done = 1_000 / (states as f64).sqrt() as u64;
            let stretch = Stretch {
                done,
                seconds: 1.0,
                ..Stretch::default()
            };
            let stretches = vec![stretch; 2];
            Point {
                at: vec![CaseResult {
                    axis: "states".to_owned(),
                    name: states.to_string(),
                    number: Some(states as f64),
                }],
                summary: crate::stats::summarise(&stretches, states as f64),
                stretches,
                ..Point::default()
            }
        };
        let scenario = Scenario {
            axes: vec!["states".to_owned()],
            points: [1, 4, 16].map(point).into(),
            main_metric: "states_per_s".to_owned(),
            ..Scenario::default()
        };
        let found = growth(&scenario);
        let found = found.iter().map(|one| rounded(one.exponent.value));
        assert_eq!(found.collect::<Vec<_>>(), [0.5]);
    }

    #[test]
    fn each_series_has_an_exponent_and_each_point_a_base() {
        type Points<'a> = &'a [(&'a [&'a str], u64)];
        type Compared<'a> = &'a [(&'a str, &'a str, f64)];
        type Exponents<'a> = &'a [(&'a str, f64)];
        type Table<'a> = (
            &'a str,
            &'a [&'a str],
            Points<'a>,
            Exponents<'a>,
            Compared<'a>,
        );
        let tables: [Table<'_>; 5] = [
            (
                OUTSTANDING,
                &["outstanding"],
                &[(&["2"], 10), (&["4"], 20), (&["8"], 40)],
                &[("", 1.0)],
                &[
                    ("outstanding = 4", "outstanding = 2", 0.5),
                    ("outstanding = 8", "outstanding = 2", 0.25),
                ],
            ),
            // More parties are more work.
            (
                PARTIES,
                &["parties"],
                &[(&["2"], 10), (&["4"], 20), (&["8"], 40)],
                &[("", 1.0)],
                &[],
            ),
            (
                &format!("{PARTIES}{SPEEDS}"),
                &["parties", "variant"],
                &[
                    (&["2", "slow"], 10),
                    (&["2", "fast"], 5),
                    (&["4", "slow"], 40),
                    (&["4", "fast"], 10),
                    (&["8", "slow"], 160),
                    (&["8", "fast"], 20),
                ],
                &[("slow", 2.0), ("fast", 1.0)],
                &[
                    ("parties = 2, variant = fast", "slow", 2.0),
                    ("parties = 4, variant = fast", "slow", 4.0),
                    ("parties = 8, variant = fast", "slow", 8.0),
                ],
            ),
            (
                VARIANTS,
                &["variant"],
                &[(&["a"], 10), (&["deep"], 30), (&["default"], 20)],
                &[],
                &[("variant = a", "default", 2.0)],
            ),
            ("", &[], &[(&[], 10)], &[], &[]),
        ];
        for (sweep, axes, points, exponents, speed_ups) in tables {
            let scenario = scenario(sweep, axes, points);
            let found = growth(&scenario);
            let found = found
                .iter()
                .map(|one| (one.series.as_str(), rounded(one.exponent.value)));
            assert_eq!(found.collect::<Vec<_>>(), exponents, "{axes:?}");
            let found = super::speed_ups(&scenario);
            let found = found.iter().map(|one| {
                assert!(one.factor.low.is_some(), "two repeats have an interval");
                (
                    one.at.as_str(),
                    one.than.as_str(),
                    rounded(one.factor.value),
                )
            });
            assert_eq!(found.collect::<Vec<_>>(), speed_ups, "{axes:?}");
        }
    }
    #[test]
    fn several_comparisons_share_one_error_rate() {
        let rate = |values: &[f64]| -> Vec<Stretch> {
            let stretch = |value: &f64| Stretch {
                done: *value as u64,
                seconds: 1.0,
                ..Stretch::default()
            };
            values.iter().map(stretch).collect()
        };
        let mut scenario = scenario(
            OUTSTANDING,
            &["outstanding"],
            &[(&["2"], 1), (&["4"], 1), (&["8"], 1)],
        );
        scenario.main_metric = "rate_per_s".to_owned();
        let spread = [1_000.0, 1_010.0, 1_020.0];
        // One alone would be shown with a chance of 3 %, but not as one of two.
        for (place, add) in [(0, 0.0), (1, 0.0), (2, 27.0)] {
            let point = &mut scenario.points[place];
            point.stretches = rate(&spread.map(|value| value + add));
            point.summary = crate::stats::summarise(&point.stretches, 0.0);
        }
        let found = super::speed_ups(&scenario);
        let raw = times(&spread.map(|value| value + 27.0), &spread).expect("positive");
        let raw = raw.p.expect("three repeats");
        assert!((0.025..0.05).contains(&raw), "{raw}");
        let found: Vec<(Option<f64>, bool)> =
            found.iter().map(|one| (one.p, one.is_shown())).collect();
        assert_eq!(found, [(Some(1.0), false), (Some(2.0 * raw), false)]);
    }
}
