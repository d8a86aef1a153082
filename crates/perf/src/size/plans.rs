//! The scenarios that are run to answer a question: one over levels of load, and one for the disk.

use std::collections::BTreeMap;

use crate::plan::{Axis, Case, Closed, Load, Plan, Think};
use crate::workload::{Workloads, is_used_up};

/// Number of levels, from one unit outstanding to the scenario's number.
const POINTS: u32 = 5;
/// Units outstanding at the top level if the scenario does not say.
const OUTSTANDING: u32 = 100;
/// Fewer units at the top level would not show the machine's maximum rate.
const OUTSTANDING_MIN: u32 = 16;
/// Interval of the monitor: several readings in each stretch.
const EVERY_MS: u64 = 250;
/// The option of a workload that is its number of states for each transaction.
const STATES: &str = "states";
/// States of a transaction at the second point of the disk's scenario, unless the work has more.
const STATES_MANY: i64 = 10;
/// Stretches of each point of the disk's scenario. The first one is left out.
const DISK_REPEATS: u32 = 5;
/// Metrics in addition to those that are always kept.
const METRICS: [&str; 2] = [super::flows::BYTES, super::disk::NOTARISED];

/// Returns the scenario with its load at a few levels instead of its own load and sweep. `seconds` and `repeats` apply to
/// each level.
pub fn plan(scenario: &Plan, seconds: f64, repeats: u32) -> Plan {
    let top = top(&scenario.load);
    let level = |at: u32| {
        let share = f64::from(at) / f64::from(POINTS - 1);
        f64::from(top).powf(share).round() as u32
    };
    let levels = (0..POINTS).map(|at| i64::from(level(at)));
    let mut plan = scenario.clone();
    plan.sweep = vec![axis("outstanding", "load.outstanding", levels)];
    plan.published.clear();
    plan.run.seconds = seconds;
    plan.run.count = None;
    plan.run.repeats = repeats;
    // Levels take turns, so that growth over time is not mistaken for growth with the rate.
    plan.run.interleave = true;
    plan.run.fresh = false;
    watch(&mut plan);
    plan
}

/// Returns a scenario that shows how files grow: stretches of the highest load without pauses between them, on a new network
/// for each number of states. `None` if the files cannot be observed, as on another machine, or if the files of a stretch do
/// not go on from those of the stretch before. A chain is a new one for each stretch, and a preparation that is used up is
/// restored.
pub fn disk_plan(scenario: &Plan, workloads: &Workloads, seconds: f64) -> Option<Plan> {
    let begins_again = scenario.chain.is_some() || uses_up(scenario, workloads);
    if scenario.network.target.is_some() || begins_again {
        return None;
    }
    let mut plan = plan(scenario, seconds, DISK_REPEATS);
    let title = format!("{}: disk", plan.title);
    plan.name = format!("{}-disk", plan.name);
    plan.title = title;
    plan.load = Load::Closed(Closed {
        outstanding: top(&scenario.load),
        think: Think::Fixed(0.0),
    });
    plan.run.warm_up_s = 0.0;
    plan.run.interleave = false;
    plan.run.fresh = true;
    plan.run.fault = None;
    plan.monitors.machine = false;
    plan.sweep = match varied_states(scenario, workloads) {
        Some(states) => vec![axis(STATES, "work.states", states.into_iter())],
        None => Vec::new(),
    };
    Some(plan)
}

/// Returns the states of a transaction of a scenario's work; 1 if the work has no such option.
pub fn states(scenario: &Plan) -> f64 {
    match &scenario.work[..] {
        [work] => work
            .knobs
            .get(STATES)
            .and_then(toml::Value::as_integer)
            .unwrap_or(1) as f64,
        _ => 1.0,
    }
}

/// Returns two numbers of states that the work takes; `None` if it has no such option, or is a mix.
fn varied_states(scenario: &Plan, workloads: &Workloads) -> Option<[i64; 2]> {
    let [work] = &scenario.work[..] else {
        return None;
    };
    let own = work.knobs.get(STATES).and_then(toml::Value::as_integer);
    let found = [1, own.unwrap_or(1).max(STATES_MANY)];
    let takes = |states: &i64| {
        let mut knobs = work.knobs.clone();
        knobs.insert(STATES.to_owned(), (*states).into());
        workloads.make(&work.kind, &knobs).is_ok()
    };
    found.iter().all(takes).then_some(found)
}

/// Returns whether the units of some work use up what was prepared for them.
fn uses_up(scenario: &Plan, workloads: &Workloads) -> bool {
    scenario.work.iter().any(|work| {
        let made = workloads.make(&work.kind, &work.knobs);
        made.is_ok_and(|workload| is_used_up(&*workload))
    })
}

/// Returns the number of units outstanding at the highest load.
fn top(load: &Load) -> u32 {
    match load {
        Load::Closed(closed) => closed.outstanding.max(OUTSTANDING_MIN),
        Load::Open(_) | Load::Knee(_) => OUTSTANDING,
    }
}

fn axis(label: &str, set: &str, values: impl Iterator<Item = i64>) -> Axis {
    let cases = values.map(|value| Case {
        name: value.to_string(),
        number: Some(value as f64),
        set: BTreeMap::from([(set.to_owned(), value.into())]),
    });
    Axis {
        label: label.to_owned(),
        cases: cases.collect(),
    }
}

fn watch(plan: &mut Plan) {
    plan.monitors.every_ms = EVERY_MS;
    for metric in METRICS {
        if !plan.monitors.metrics.iter().any(|kept| kept == metric) {
            plan.monitors.metrics.push(metric.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{NoChecks, Options, parse};

    fn scenario(text: &str) -> Plan {
        parse("x", "x", text.as_bytes(), &Options::default(), &NoChecks).expect("reads")
    }

    fn names(plan: &Plan) -> Vec<String> {
        let points = plan.points().expect("points");
        let names = points.iter().filter_map(|point| point.at.first());
        names.map(|case| case.name.clone()).collect()
    }

    #[test]
    fn a_scenario_is_shown_at_levels_from_one_to_its_own() {
        for (load, levels) in [
            ("outstanding = 200", ["1", "4", "14", "53", "200"]),
            ("outstanding = 1", ["1", "2", "4", "8", "16"]),
            ("rate = 3", ["1", "3", "10", "32", "100"]),
        ] {
            let scenario = scenario(&format!(
                "[work]\nkind = 'pay'\n[load]\n{load}\n[run]\ncount = 3\nfresh = true\n[[sweep]]\nset = 'work.states'\nvalues = [1]"
            ));
            let plan = plan(&scenario, 2.0, 3);
            assert_eq!(names(&plan), levels);
            let run = &plan.points().expect("points")[0].plan.run;
            assert_eq!((run.seconds, run.count, run.repeats), (2.0, None, 3));
        }
    }

    #[test]
    fn disk_is_measured_at_two_numbers_of_states_if_the_work_has_them() {
        let target = "[network.target]\nbanks = ['a']\n";
        for (network, work, states_at, points) in [
            ("", "kind = 'pay'", 1.0, Some(&["1", "10"][..])),
            ("", "kind = 'pay'\nstates = 5", 5.0, Some(&["1", "10"])),
            ("", "kind = 'pay'\nstates = 40", 40.0, Some(&["1", "40"])),
            ("", "kind = 'issue'\nquantity = 5", 1.0, Some(&[])),
            ("", "kind = 'issue_and_pay'", 1.0, Some(&[])),
            ("", "kind = 'swap'", 1.0, Some(&[])),
            ("", "kind = 'swap'\ndepth = 2", 1.0, None),
            ("", "kind = 'transfer'", 1.0, None),
            ("", "kind = 'transfer-attachment'", 1.0, None),
            (
                "",
                "kind = 'transfer-attachment'\ntemperature = 'present'",
                1.0,
                Some(&[]),
            ),
            (target, "kind = 'pay'", 1.0, None),
        ] {
            let scenario = scenario(&format!("{network}[work]\n{work}\n"));
            assert_eq!(states(&scenario), states_at, "{work}");
            let plan = disk_plan(&scenario, &Workloads::shipped(), 2.0);
            let found = plan.as_ref().map(names);
            let points = points.map(|names| names.iter().map(ToString::to_string).collect());
            assert_eq!(found, points, "{work}");
            if let Some(plan) = plan {
                let run = &plan.run;
                assert_eq!(
                    (run.warm_up_s, run.fresh, run.interleave),
                    (0.0, true, false)
                );
            }
        }
    }
}
