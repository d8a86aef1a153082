//! Whether two points do the same work, so that their figures can be compared, and the points of a scenario that a report holds.

use std::collections::BTreeMap;

use toml::Value;

use super::checks::NoChecks;
use super::model::{Plan, Work};
use super::open::{Options, parse};
use super::points::PointPlan;

/// Knobs that change only the manner of a unit. All others change the work of a unit: its states, its parties, its
/// files, its history.
const MANNER: [&str; 11] = [
    "anonymous",
    "connections",
    "currency",
    "gateway_workers",
    "resolution",
    "retry",
    "selection",
    "sessions",
    "starts",
    "symbol",
    "window_ms",
];

/// Returns the points of a scenario from the source that a report holds; none if it cannot be read.
pub fn recorded_points(name: &str, source: &str) -> Vec<PointPlan> {
    let plan = parse(
        name,
        "report",
        source.as_bytes(),
        &Options::default(),
        &NoChecks,
    );
    let points = plan.ok().and_then(|plan| plan.points().ok());
    points.unwrap_or_default()
}

/// Returns whether the units of two plans do the same work.
pub fn is_same_work(one: &Plan, two: &Plan) -> bool {
    let chains = |plan: &Plan| plan.chain.as_ref().map(|chain| chain.chains.clone());
    let amounts = |plan: &Plan| plan.work.iter().map(amount).collect::<Vec<_>>();
    chains(one) == chains(two) && amounts(one) == amounts(two)
}

/// Returns the kind of a work, its share, and the knobs that change it.
fn amount(work: &Work) -> (String, u32, BTreeMap<String, Value>) {
    let mut knobs = work.knobs.clone();
    knobs.retain(|knob, _| !MANNER.contains(&knob.as_str()));
    (work.kind.clone(), work.weight, knobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_the_same_if_only_its_manner_differs() {
        let plan = |text: &str| {
            let plan = parse("x", "x", text.as_bytes(), &Options::default(), &NoChecks);
            plan.unwrap_or_else(|error| panic!("{error}"))
        };
        let pay = "[work]\nkind = 'pay'\nstates = 5\n";
        let swap = "[work]\nkind = 'swap'\nparties = 4\n";
        for (one, two, expected) in [
            (
                pay,
                "[work]\nkind = 'pay'\nstates = 5\nanonymous = true\n",
                true,
            ),
            (
                pay,
                "[work]\nkind = 'pay'\nstates = 5\n[load]\noutstanding = 9\n",
                true,
            ),
            (pay, "[work]\nkind = 'pay'\nstates = 6\n", false),
            (pay, "[work]\nkind = 'issue'\nstates = 5\n", false),
            (
                swap,
                "[work]\nkind = 'swap'\nparties = 4\nsessions = 'sequential'\n",
                true,
            ),
            (
                swap,
                "[work]\nkind = 'swap'\nparties = 4\ndepth = 3\n",
                false,
            ),
            (pay, "[chain]\n[run]\nseconds = 9\n", false),
        ] {
            assert_eq!(
                is_same_work(&plan(one), &plan(two)),
                expected,
                "{one} {two}"
            );
        }
    }
}
