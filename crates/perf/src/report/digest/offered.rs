//! The latency by offered load, and its knee: of a search for the knee, or of a sweep of an open loop's rate.

use serde::Serialize;

use super::conditions::plans;
use crate::plan::{Load, Plan, PointPlan, Shape};
use crate::report::figures::figure;
use crate::report::headline::headline;
use crate::results::{Point, Scenario, Stretch, Trial};

/// A sweep's rate is kept up with if at least this share of the offered units is completed a second.
const KEPT_UP: f64 = 0.95;

/// The latency by offered load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OfferedLoad {
    /// The rates, lowest first; empty if none was offered.
    pub rates: Vec<OfferedRate>,
    /// The knee, units a second; `None` if no rate qualifies.
    pub knee_per_s: Option<f64>,
    /// The highest offered rate, if every rate was kept up with. The knee was not reached then.
    pub kept_up_to_per_s: Option<f64>,
    /// The condition that the knee meets, in words.
    pub rule: String,
}

/// One offered rate: the median of its trials or repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OfferedRate {
    /// Trials or repeats.
    pub trials: usize,
    /// Its figures. A percentile is there if every trial has enough samples for it.
    #[serde(flatten)]
    pub figures: Trial,
}

/// Returns the latency by offered load at the headline point, or over its sweep of rates.
pub(super) fn of(scenario: &Scenario) -> OfferedLoad {
    let Some(headline) = headline(scenario) else {
        return OfferedLoad::default();
    };
    let plans = plans(scenario);
    let searched: Vec<Trial> = headline
        .point
        .stretches
        .iter()
        .flat_map(|stretch| stretch.trials.iter().cloned())
        .collect();
    if !searched.is_empty() {
        let knee = headline.point.summary.metrics.get("knee_per_s");
        let above = headline.point.stretches.iter();
        let above: Option<Vec<f64>> = above.map(Stretch::knee_above_per_s).collect();
        return OfferedLoad {
            rates: by_rate(searched),
            knee_per_s: knee.map(|knee| knee.value),
            kept_up_to_per_s: above.and_then(|rates| rates.into_iter().reduce(f64::min)),
            rule: target(&plans, headline.point),
        };
    }
    let same_cases = |point: &&Point| point.at.iter().skip(1).eq(headline.point.at.iter().skip(1));
    let points = scenario.points.iter().filter(same_cases);
    let offered: Vec<Trial> = points
        .filter_map(|point| Some((constant_rate(&plans, point)?, point)))
        .flat_map(|(per_s, point)| {
            let stretches = point.stretches.iter();
            stretches.map(move |stretch| Trial::of(per_s, stretch))
        })
        .collect();
    let rates = by_rate(offered);
    if rates.len() < 2 {
        return OfferedLoad::default();
    }
    let kept_up: Vec<f64> = rates
        .iter()
        .map(|rate| &rate.figures)
        .take_while(|rate| rate.done_per_s >= KEPT_UP * rate.offered_per_s)
        .map(|rate| rate.offered_per_s)
        .collect();
    // Without a rate that is too high, the highest one is no knee.
    let is_above = kept_up.len() == rates.len();
    let highest = kept_up.last().copied();
    let percent = KEPT_UP * 100.0;
    OfferedLoad {
        knee_per_s: highest.filter(|_| !is_above),
        kept_up_to_per_s: highest.filter(|_| is_above),
        rule: format!(
            "the highest offered rate up to which at least {percent} % of the units are completed a second"
        ),
        rates,
    }
}

/// Returns the rate of a point whose load is an open loop at one rate.
fn constant_rate(plans: &[PointPlan], point: &Point) -> Option<f64> {
    match &plan_at(plans, point)?.load {
        Load::Open(open) => match open.shape {
            Shape::Constant(per_s) => Some(per_s),
            Shape::Ramp { .. } | Shape::Steps(_) => None,
        },
        Load::Closed(_) | Load::Knee(_) => None,
    }
}

fn plan_at<'a>(plans: &'a [PointPlan], point: &Point) -> Option<&'a Plan> {
    let found = plans.iter().find(|one| one.at == point.at);
    found.map(|found| &found.plan)
}

/// Returns the target of a search, in words.
fn target(plans: &[PointPlan], point: &Point) -> String {
    match plan_at(plans, point).map(|plan| &plan.load) {
        Some(Load::Knee(knee)) => format!(
            "the highest rate with a p{} of at most {} ms, the mean of the repeats",
            knee.percentile,
            figure(knee.latency_ms)
        ),
        _ => "the highest rate that meets the target of the search, the mean of the repeats"
            .to_owned(),
    }
}

/// Returns one entry for each rate, lowest first.
fn by_rate(mut trials: Vec<Trial>) -> Vec<OfferedRate> {
    trials.sort_by(|one, two| one.offered_per_s.total_cmp(&two.offered_per_s));
    let same = trials.chunk_by(|one, two| one.offered_per_s == two.offered_per_s);
    same.map(together).collect()
}

/// Returns the medians of the trials of one rate, at least one.
fn together(trials: &[Trial]) -> OfferedRate {
    let percentile = |of: fn(&Trial) -> Option<f64>| {
        let values: Option<Vec<f64>> = trials.iter().map(of).collect();
        values.map(median)
    };
    OfferedRate {
        trials: trials.len(),
        figures: Trial {
            offered_per_s: trials[0].offered_per_s,
            done_per_s: median(trials.iter().map(|trial| trial.done_per_s).collect()),
            p50_ms: percentile(|trial| trial.p50_ms),
            p95_ms: percentile(|trial| trial.p95_ms),
            p99_ms: percentile(|trial| trial.p99_ms),
        },
    }
}

fn median(values: Vec<f64>) -> f64 {
    crate::measure::median(&values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CaseResult, Estimate, Histogram, Summary};

    fn trial(offered_per_s: f64, done_per_s: f64, p99_ms: Option<f64>) -> Trial {
        Trial {
            offered_per_s,
            done_per_s,
            p99_ms,
            ..Trial::default()
        }
    }

    #[test]
    fn a_search_gives_one_entry_for_each_rate_and_its_knee() {
        let stretch = |trials: &[Trial]| Stretch {
            trials: trials.to_vec(),
            ..Stretch::default()
        };
        let point = Point {
            stretches: vec![
                stretch(&[
                    trial(200.0, 190.0, Some(9.0)),
                    trial(100.0, 100.0, None),
                    trial(200.0, 180.0, Some(11.0)),
                ]),
                stretch(&[
                    trial(100.0, 98.0, Some(5.0)),
                    trial(200.0, 200.0, Some(10.0)),
                ]),
            ],
            summary: Summary {
                metrics: [("rate_per_s", 150.0), ("knee_per_s", 120.0)]
                    .map(|(name, value)| {
                        let estimate = Estimate {
                            value,
                            ..Estimate::default()
                        };
                        (name.to_owned(), estimate)
                    })
                    .into(),
            },
            ..Point::default()
        };
        let scenario = Scenario {
            points: vec![point],
            source: "[work]\nkind = 'pay'\n[load]\nknee = { from_per_s = 10, to_per_s = 900, latency_ms = 50 }\n"
                .to_owned(),
            ..Scenario::default()
        };
        let found = of(&scenario);
        let rates = found.rates.iter().map(|rate| {
            let figures = &rate.figures;
            (
                figures.offered_per_s,
                figures.done_per_s,
                figures.p99_ms,
                rate.trials,
            )
        });
        // One trial at 100/s has too few samples.
        assert_eq!(
            rates.collect::<Vec<_>>(),
            [(100.0, 99.0, None, 2), (200.0, 190.0, Some(10.0), 3)]
        );
        assert_eq!(
            (found.knee_per_s, found.kept_up_to_per_s),
            (Some(120.0), None)
        );
        assert!(
            found.rule.contains("p99 of at most 50 ms"),
            "{}",
            found.rule
        );
    }

    #[test]
    fn a_search_that_never_failed_has_no_knee() {
        let above = Stretch {
            seconds: 1.0,
            done: 900,
            tried: vec![(450.0, true), (900.0, true), (900.0, true)],
            trials: vec![trial(450.0, 450.0, None), trial(900.0, 900.0, None)],
            ..Stretch::default()
        };
        let stretches = vec![above.clone(), above];
        let scenario = Scenario {
            points: vec![Point {
                summary: crate::stats::summarise(&stretches, 0.0),
                stretches,
                ..Point::default()
            }],
            main_metric: "knee_per_s".to_owned(),
            ..Scenario::default()
        };
        let found = of(&scenario);
        assert_eq!(
            (found.knee_per_s, found.kept_up_to_per_s),
            (None, Some(900.0))
        );
    }

    #[test]
    fn a_sweep_of_rates_has_its_knee_where_it_falls_behind() {
        let point = |per_s: u64, done: u64| Point {
            at: vec![CaseResult {
                axis: "rate".to_owned(),
                name: per_s.to_string(),
                number: Some(per_s as f64),
            }],
            stretches: vec![Stretch {
                seconds: 1.0,
                done,
                latencies: Histogram {
                    buckets: [(1_000, done)].into(),
                },
                ..Stretch::default()
            }],
            summary: Summary {
                metrics: [("rate_per_s".to_owned(), Estimate::default())].into(),
            },
            ..Point::default()
        };
        let source = "[work]\nkind = 'pay'\n[load]\nrate = 100\n[[sweep]]\nlabel = 'rate'\nset = 'load.rate'\nvalues = [100, 200, 400, 800]\n";
        for (done, knee, kept_up_to) in [
            (&[100, 199, 300, 300][..], Some(200.0), None),
            (&[100, 150, 400, 800], Some(100.0), None),
            (&[50, 60, 70, 80], None, None),
            (&[100, 200, 400, 800], None, Some(800.0)),
        ] {
            let rates = [100, 200, 400, 800];
            let points = rates
                .into_iter()
                .zip(done)
                .map(|(rate, done)| point(rate, *done));
            let scenario = Scenario {
                axes: vec!["rate".to_owned()],
                points: points.collect(),
                source: source.to_owned(),
                ..Scenario::default()
            };
            let found = of(&scenario);
            assert_eq!(found.rates.len(), 4, "{done:?}");
            let ends = (found.knee_per_s, found.kept_up_to_per_s);
            assert_eq!(ends, (knee, kept_up_to), "{done:?}");
        }
    }

    #[test]
    fn a_closed_loop_offers_no_rate() {
        let scenario = Scenario {
            points: vec![Point {
                summary: Summary {
                    metrics: [("rate_per_s".to_owned(), Estimate::default())].into(),
                },
                stretches: vec![Stretch::default()],
                ..Point::default()
            }],
            source: "[work]\nkind = 'pay'\n[load]\noutstanding = 1\n".to_owned(),
            ..Scenario::default()
        };
        assert_eq!(of(&scenario), OfferedLoad::default());
    }
}
