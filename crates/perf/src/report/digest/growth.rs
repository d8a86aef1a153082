//! How the main figure of a sweep grows along a numeric axis, and how the cases compare with a base case.

use serde::Serialize;

use crate::report::headline::{base, is_numeric, main_metric};
use crate::report::units::{Better, Metric};
use crate::results::{Estimate, Point, Scenario};
use crate::stats::{exponent, repeats_of, times};

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
    /// The factor: `value`, with the 95 % interval from `low` to `high`. Above 1 is better.
    #[serde(flatten)]
    pub factor: Estimate,
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
    let compared = scenario.points.iter().filter_map(|point| {
        let base = base_of(point).filter(|base| !std::ptr::eq(*base, point))?;
        let of = |point: &Point| repeats_of(point, &metric.name);
        let factor = match better {
            Better::Higher => times(&of(point), &of(base)),
            Better::Lower => times(&of(base), &of(point)),
        };
        // The cases that both share are named once.
        let than = match (is_numeric, scenario.axes.len()) {
            (true, 1) => format!("{} = {}", scenario.axes[0], names(base, 0)),
            (true, _) => names(base, 1),
            (false, _) => base_name.to_owned(),
        };
        Some(SpeedUp {
            at: crate::report::headline::place(point),
            than,
            factor: factor?,
        })
    });
    compared.take(SPEED_UPS_MAX).collect()
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

    /// Returns a scenario whose points have these positions, and two repeats of these mean latencies in milliseconds.
    fn scenario(axes: &[&str], points: &[(&[&str], u64)]) -> Scenario {
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
            ..Scenario::default()
        }
    }

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
        for (axes, points, exponents, speed_ups) in [
            (
                &["parties"][..],
                &[(&["2"][..], 10), (&["4"], 20), (&["8"], 40)][..],
                &[("", 1.0)][..],
                &[
                    ("parties = 4", "parties = 2", 0.5),
                    ("parties = 8", "parties = 2", 0.25),
                ][..],
            ),
            (
                &["parties", "variant"],
                &[
                    (&["2", "slow"][..], 10),
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
                &["variant"],
                &[(&["a"][..], 10), (&["default"], 20)],
                &[],
                &[("variant = a", "default", 2.0)],
            ),
            (&[], &[(&[][..], 10)], &[], &[]),
        ] {
            let scenario = scenario(axes, points);
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
}
