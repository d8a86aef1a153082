//! The sequential round trips of a unit: the slope of the fastest unit's latency by the delay between nodes, next to the number that
//! follows from the protocol.

use serde::Serialize;

use super::conditions::plans;
use crate::plan::{Load, Plan, Work};
use crate::results::{Estimate, Point, Scenario};
use crate::stats::fit;

/// Delays of one round trip: one each way.
const WAYS: f64 = 2.0;

/// The sequential round trips of one combination of the cases of the further axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundTrips {
    /// The cases of the further axes; empty if there are none.
    pub series: String,
    /// The number that follows from the protocol; null if it is not documented.
    pub documented: Option<u32>,
    /// How that number comes about; empty if it is not documented.
    pub steps: &'static str,
    /// The measured number: `value`, with the 95 % interval from `low` to `high`.
    pub measured: Estimate,
    /// The latency of the fastest unit without any delay, by the fitted line, milliseconds.
    pub at_zero_ms: f64,
}

/// Pairs of a delay and the latency of the fastest unit of a repeat, both in milliseconds.
type DelayedLatencies = Vec<(f64, f64)>;

/// Returns the round trips of each series of a scenario whose first axis is the delay of all links, with one unit at a time;
/// else nothing. With several units at a time, queues would add to the slope.
pub(super) fn of(scenario: &Scenario) -> Vec<RoundTrips> {
    let plans = plans(scenario);
    let plan_of = |point: &Point| {
        let found = plans.iter().find(|one| one.at == point.at);
        found.map(|found| &found.plan)
    };
    let mut all: Vec<(String, &Plan, DelayedLatencies)> = Vec::new();
    for point in &scenario.points {
        let Some((delay_ms, plan)) = plan_of(point).and_then(|plan| {
            let delay_ms = point.at.first()?.number?;
            is_delay(plan, delay_ms).then_some((delay_ms, plan))
        }) else {
            return Vec::new();
        };
        let names = point.at.iter().skip(1).map(|case| case.name.as_str());
        let series = names.collect::<Vec<_>>().join(", ");
        // The fastest unit of a repeat waited least for other programs.
        let stretches = point.stretches.iter();
        let values = stretches
            .filter(|stretch| stretch.latencies.count() > 0)
            .map(|stretch| (delay_ms, stretch.latencies.quantile_ms(0.0)));
        match all.iter_mut().find(|(name, _, _)| *name == series) {
            Some((_, _, points)) => points.extend(values),
            None => all.push((series, plan, values.collect())),
        }
    }
    let fitted = all.into_iter().filter_map(|(series, plan, points)| {
        let line = fit(&points)?;
        let documented = match plan.work.as_slice() {
            [work] => documented(work),
            _ => None,
        };
        let trips = |slope: f64| slope / WAYS;
        Some(RoundTrips {
            series,
            documented: documented.map(|(count, _)| count),
            steps: documented.map_or("", |(_, steps)| steps),
            measured: Estimate {
                value: trips(line.slope.value),
                low: line.slope.low.map(trips),
                high: line.slope.high.map(trips),
            },
            at_zero_ms: line.at_zero,
        })
    });
    fitted.collect()
}

/// Returns whether this is the delay of the links between all nodes, with one unit at a time.
fn is_delay(plan: &Plan, delay_ms: f64) -> bool {
    let is_link = plan
        .network
        .link
        .is_some_and(|link| link.delay_ms == delay_ms);
    let is_same = plan.network.nodes.values().all(|own| own.link.is_none());
    let is_single = matches!(&plan.load, Load::Closed(closed) if closed.outstanding == 1);
    is_link && is_same && is_single
}

/// Returns the sequential round trips of a unit, and their steps; `None` if they are not documented for this work. A unit ends
/// when its participants have recorded it and its node knows.
fn documented(work: &Work) -> Option<(u32, &'static str)> {
    match work.kind.as_str() {
        "empty" | "issue" => Some((0, "none: the issuer decides alone")),
        "notarise" => Some((1, "the notary signs")),
        "pay" | "issue_and_pay" | "transfer" => {
            Some((2, "the notary signs; the payee records and confirms"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CaseResult, Histogram, Stretch};

    /// Returns a scenario of delays and protocols, whose units take `trips` round trips and 5 ms.
    fn scenario(load: &str, link: &str, trips: &[(&str, u64)]) -> Scenario {
        let delays = [0u64, 10, 50];
        let case = |axis: &str, name: &str| CaseResult {
            axis: axis.to_owned(),
            name: name.to_owned(),
            number: name.parse().ok(),
        };
        let mut points = Vec::new();
        for delay in delays {
            for (kind, trips) in trips {
                let us = 5_000 + trips * 2 * delay * 1_000;
                let stretch = Stretch {
                    latencies: Histogram {
                        buckets: [(us, 20)].into(),
                    },
                    ..Stretch::default()
                };
                points.push(Point {
                    at: vec![case("delay", &delay.to_string()), case("protocol", kind)],
                    stretches: vec![stretch; 2],
                    ..Point::default()
                });
            }
        }
        let cases: String = trips
            .iter()
            .map(|(kind, _)| format!("[[sweep.case]]\nname = '{kind}'\nset.work.kind = '{kind}'\n"))
            .collect();
        Scenario {
            axes: vec!["delay".to_owned(), "protocol".to_owned()],
            source: format!(
                "[network]\nbanks = 2\n[network.link]\n{link}\n[work]\nkind = 'pay'\n[load]\n{load}\n[[sweep]]\nlabel = \
                 'delay'\nset = 'network.link.delay_ms'\nvalues = [0, 10, 50]\n[[sweep]]\nlabel = 'protocol'\n{cases}"
            ),
            points,
            ..Scenario::default()
        }
    }

    #[test]
    fn the_slope_counts_round_trips_of_single_units_over_equal_links() {
        let trips = [("issue", 0), ("pay", 2), ("swap", 7)];
        for (load, link, expected) in [
            (
                "outstanding = 1",
                "mbit_per_s = 100",
                &[
                    ("issue", 0.0, Some(0)),
                    ("pay", 2.0, Some(2)),
                    ("swap", 7.0, None),
                ][..],
            ),
            ("outstanding = 20", "mbit_per_s = 100", &[]),
            ("rate = 20", "mbit_per_s = 100", &[]),
            (
                "outstanding = 1",
                "[network.nodes.bank-1.link]\ndelay_ms = 5",
                &[],
            ),
        ] {
            let found = of(&scenario(load, link, &trips));
            let found = found.iter().map(|one| {
                assert!((one.at_zero_ms - 5.0).abs() < 0.1, "{one:?}");
                assert_eq!(one.steps.is_empty(), one.documented.is_none());
                let measured = (one.measured.value * 100.0).round() / 100.0;
                (one.series.as_str(), measured, one.documented)
            });
            assert_eq!(found.collect::<Vec<_>>(), expected, "{load} {link}");
        }
    }
}
