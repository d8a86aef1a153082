//! Estimates the needs of a rate on machines like this one from a few measured points: cores, memory, disk per day and
//! network of every node.
//!
//! [`plan`] turns a scenario into one that measures the same work at rates from low to the highest possible. [`answer`]
//! fits straight lines to those results and evaluates them at the target. Both are pure; the run happens between them.

mod answer;
mod fit;

pub use answer::{ERRORS, Evidence, Need, NodeNeed, SizeError, Sizing, answer};

use std::collections::BTreeMap;

use crate::plan::{Axis, Case, Load, Plan};

/// Number of levels, from one unit outstanding to the scenario's number.
const POINTS: u32 = 5;
/// Units outstanding at the top level if the scenario does not say.
const OUTSTANDING: u32 = 100;
/// Fewer units at the top level would not show the machine's maximum rate.
const OUTSTANDING_MIN: u32 = 16;
/// Interval of the monitor: several readings in each stretch.
const EVERY_MS: u64 = 250;

/// Returns the scenario with its load at a few levels instead of its own load and sweep. `seconds` and `repeats` apply to
/// each level.
pub fn plan(scenario: &Plan, seconds: f64, repeats: u32) -> Plan {
    let top = match &scenario.load {
        Load::Closed(closed) => closed.outstanding.max(OUTSTANDING_MIN),
        Load::Open(_) | Load::Knee(_) => OUTSTANDING,
    };
    let level = |at: u32| {
        let share = f64::from(at) / f64::from(POINTS - 1);
        f64::from(top).powf(share).round() as u32
    };
    let cases = (0..POINTS).map(|at| {
        let outstanding = i64::from(level(at));
        Case {
            name: outstanding.to_string(),
            number: Some(outstanding as f64),
            set: BTreeMap::from([("load.outstanding".to_owned(), outstanding.into())]),
        }
    });
    let mut plan = scenario.clone();
    plan.sweep = vec![Axis {
        label: "outstanding".to_owned(),
        cases: cases.collect(),
    }];
    plan.published.clear();
    plan.run.seconds = seconds;
    plan.run.count = None;
    plan.run.repeats = repeats;
    // Levels take turns, so that growth over time is not mistaken for growth with the rate.
    plan.run.interleave = true;
    plan.run.fresh = false;
    plan.monitors.every_ms = EVERY_MS;
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{NoChecks, Options, parse};

    #[test]
    fn a_scenario_is_shown_at_levels_from_one_to_its_own() {
        for (load, levels) in [
            ("outstanding = 200", ["1", "4", "14", "53", "200"]),
            ("outstanding = 1", ["1", "2", "4", "8", "16"]),
            ("rate = 3", ["1", "3", "10", "32", "100"]),
        ] {
            let text = format!(
                "[work]\nkind = 'pay'\n[load]\n{load}\n[run]\ncount = 3\nfresh = true\n[[sweep]]\nset = 'work.states'\nvalues = [1]"
            );
            let options = Options::default();
            let scenario = parse("x", "x", text.as_bytes(), &options, &NoChecks).expect("reads");
            let plan = plan(&scenario, 2.0, 3);
            let points = plan.points().expect("points");
            let found: Vec<&str> = points.iter().map(|p| p.at[0].name.as_str()).collect();
            assert_eq!(found, levels);
            let run = &points[0].plan.run;
            assert_eq!((run.seconds, run.count, run.repeats), (2.0, None, 3));
        }
    }
}
