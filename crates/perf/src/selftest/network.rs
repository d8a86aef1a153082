//! The self-test on a network: one scenario of forty identical points, measured in rounds, compared in pairs.

use super::outcome::{COMPARISONS, Tried};
use crate::plan::{Plan, PointPlan};
use crate::results::{CaseResult, Report};
use crate::run;
use crate::stats::{Case, Design, Side, compare};

/// The scenario of every point: short, at a rate that any machine manages, on a bank and a notary.
pub const SCENARIO: &str = r#"title = "The same against itself"
about = "Twenty comparisons of a system with itself: every change that they find is a false finding."
seed = 1
main_metric = "p50_ms"
[network]
banks = 1
[work]
kind = "issue"
[load]
rate = 200
[run]
warm_up_s = 0
seconds = 0.2
repeats = 10
interleave = true
[monitors]
machine = false
"#;

const COMPARISON: &str = "comparison";
const SIDE: &str = "side";

/// Returns the points, two for each comparison.
pub fn sides(plan: &Plan) -> Vec<run::Side> {
    let side = |number: u32, name: &str| run::Side {
        point: PointPlan {
            at: vec![
                CaseResult {
                    axis: COMPARISON.to_owned(),
                    name: number.to_string(),
                    number: Some(f64::from(number)),
                },
                CaseResult {
                    axis: SIDE.to_owned(),
                    name: name.to_owned(),
                    number: None,
                },
            ],
            plan: plan.clone(),
        },
        binary: None,
    };
    let pair = |number| [side(number, "A"), side(number, "B")];
    (1..=COMPARISONS).flat_map(pair).collect()
}

/// Judges the comparisons in a report of [`sides`].
pub fn judge(report: &Report) -> Tried {
    let mut tried = Tried::default();
    for scenario in &report.scenarios {
        for pair in scenario.points.chunks(2) {
            let stretches: Vec<_> = pair.iter().map(|point| point.stretches.clone()).collect();
            let pairs = stretches.iter().map(Vec::len).min();
            let pairs = pairs.expect("a chunk has a point");
            tried.pairs = u32::try_from(pairs).expect("a report has fewer repeats");
            tried.comparisons += 1;
            let sides = ["A", "B"].map(|name| Side {
                name: name.to_owned(),
                about: String::new(),
            });
            let case = Case {
                at: String::new(),
                stretches,
            };
            let seed = scenario.seed.wrapping_add(u64::from(tried.comparisons));
            let compared = compare(sides.into(), &[case], Design::Random, seed);
            tried.note(u64::from(tried.comparisons), &compared);
        }
    }
    tried
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{NoChecks, Options, parse};
    use crate::results::{Point, Scenario, Stretch};

    #[test]
    fn the_scenario_is_in_order_and_its_points_are_judged_two_by_two() {
        let plan = parse(
            "selftest",
            "selftest.toml",
            SCENARIO.as_bytes(),
            &Options::default(),
            &NoChecks,
        )
        .expect("in order");
        let sides = sides(&plan);
        assert_eq!(sides.len(), 40);
        let points = sides.iter().enumerate().map(|(at, side)| Point {
            at: side.point.at.clone(),
            stretches: (0..10u64)
                .map(|round| Stretch {
                    // Only the last pair differs by much.
                    seconds: 1.0
                        + ((at as u64 * 7 + round * 13) % 11) as f64 * 1e-3 * f64::from(at < 38)
                        + f64::from(at == 39),
                    done: 100,
                    ..Stretch::default()
                })
                .collect(),
            ..Point::default()
        });
        let report = Report {
            scenarios: vec![Scenario {
                points: points.collect(),
                ..Scenario::default()
            }],
            ..Report::default()
        };
        let tried = judge(&report);
        assert_eq!((tried.comparisons, tried.pairs), (20, 10));
        assert!(
            tried
                .found
                .iter()
                .any(|found| found.starts_with("comparison 20: rate_per_s")),
            "{tried:?}"
        );
        assert_eq!(judge(&Report::default()), Tried::default());
    }
}
