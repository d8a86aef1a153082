//! The answer of sizing: the needs of every node at a rate, and whether and how far the rate lies beyond the measured range.

use serde::Serialize;

use super::ceiling::Ceiling;
use super::disk::DiskQuestion;
use super::error::{STRETCHES_MIN, SizeError};
use super::evidence::{Evidence, cores};
use super::fit::line;
use super::latency::{LatencyAnswer, LatencyLevel};
use super::need::NodeNeed;
use super::reach::{Reach, ReachFacts};
use super::retention::Retention;
use super::role::Role;
use super::usage::{processes, window};
use crate::results::{Estimate, Machine, Report, Scenario, Stretch};

/// The rate to size for, and its constraints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The rate, units a second.
    pub target_per_s: f64,
    /// The bound on the 99th percentile of latency, milliseconds.
    pub p99_ms: Option<f64>,
    /// How long the ledger is kept.
    pub retention: Option<Retention>,
    /// States of a transaction of the work ([`super::states`]).
    pub states: f64,
}

/// The needs at a rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizing {
    /// The scenario.
    pub scenario: String,
    /// The rate asked for, units a second.
    pub target_per_s: f64,
    /// Whether it can be reached.
    #[serde(flatten)]
    pub reach: Reach,
    /// The highest rate that this machine showed, with everything on it.
    pub shown_per_s: Estimate,
    /// The target divided by that rate. Above 1, every need is extrapolated by this factor beyond the measured range.
    pub factor: f64,
    /// Whether the target lies within the measured range.
    pub within: bool,
    /// The bound on latency; absent if none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyAnswer>,
    /// The node whose thread sets the ceiling of the whole network; absent if a node's time is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// The needs of each node and database server, by role.
    pub nodes: Vec<NodeNeed>,
    /// Cores of all of them together; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<Estimate>,
    /// Cores, memory and processor of this machine: the meaning of a core in the answer.
    pub machine: Machine,
    /// The measurements, level by level.
    pub evidence: Vec<Evidence>,
    /// Stretches that the lines go through.
    pub stretches: usize,
    /// The method of the answer, in words.
    pub model: String,
}

/// Computes the needs at a target from a report whose first scenario is that of [`super::plan`], and whose second one, if
/// there is one, that of [`super::disk_plan`].
///
/// # Errors
/// Fails if too little was measured.
pub fn answer(report: &Report, question: &Question) -> Result<Sizing, SizeError> {
    let nothing = Scenario::default();
    let levels = report.scenarios.first().unwrap_or(&nothing);
    let all = levels.points.iter().flat_map(|point| &point.stretches);
    let stretches: Vec<&Stretch> = all
        .filter(|stretch| stretch.done > 0 && processes(stretch).any(|one| window(one).is_some()))
        .collect();
    if stretches.len() < STRETCHES_MIN {
        return Err(SizeError {
            stretches: stretches.len(),
        });
    }
    let target = question.target_per_s;
    let disk = DiskQuestion {
        apart: report.scenarios.get(1),
        levels,
        states: question.states,
        target_per_s: target,
        retention: question.retention,
    };
    let mut names: Vec<&str> = Vec::new();
    for process in stretches.iter().flat_map(|stretch| processes(stretch)) {
        if !names.contains(&process.name.as_str()) {
            names.push(&process.name);
        }
    }
    let mut nodes: Vec<NodeNeed> = names
        .iter()
        .map(|name| NodeNeed::of(name, levels, &stretches, target, &disk))
        .collect();
    nodes.sort_by_key(|node| node.role);
    let evidence: Vec<Evidence> = levels.points.iter().filter_map(Evidence::of).collect();
    let shown = evidence.iter().map(|level| level.rate_per_s.clone());
    let shown = shown.max_by(|one, other| one.value.total_cmp(&other.value));
    let shown = shown.unwrap_or_default();
    let together: Option<Vec<(f64, f64)>> = stretches
        .iter()
        .map(|stretch| Some((stretch.per_s(), cores(stretch)?)))
        .collect();
    let latency = question.p99_ms.map(|bound_ms| {
        let known: Vec<LatencyLevel> = evidence
            .iter()
            .map(|level| LatencyLevel {
                outstanding: &level.outstanding,
                rate: level.rate_per_s.value,
                p99_ms: level.p99_ms,
            })
            .collect();
        LatencyAnswer::of(&known, target, bound_ms)
    });
    let ceiling = lowest_ceiling(&nodes);
    let alone = levels.points.first().map(|point| &point.summary.metrics);
    let commits = alone.and_then(|metrics| metrics.get("commits_per_unit"));
    let reach = ReachFacts {
        target_per_s: target,
        shown_per_s: &shown,
        latency: latency.as_ref(),
        ceiling: ceiling.as_ref(),
        commits_per_unit: commits.map(|estimate| estimate.value),
        machine: &report.machine,
    };
    let factor = match shown.value > 0.0 {
        true => target / shown.value,
        false => f64::INFINITY,
    };
    Ok(Sizing {
        scenario: levels.name.clone(),
        target_per_s: target,
        reach: reach.judge(),
        factor,
        within: factor <= 1.0,
        cores: together.and_then(|points| Some(line(&points, target)?.at)),
        machine: report.machine.clone(),
        stretches: stretches.len(),
        model: "a straight line of least squares for each node over the rates of all stretches, read at the target with the 95 % \
                interval of one more stretch; memory and commits at least what was seen; disk by lines over the units done, at the \
                highest load if possible; room for merges as the store documents it; percentiles between two levels by a straight line"
            .to_owned(),
        latency,
        ceiling,
        nodes,
        shown_per_s: shown,
        evidence,
    })
}

/// Returns the lowest ceiling; `None` if that of a node is unknown, because it could be the lowest. Databases have none.
fn lowest_ceiling(nodes: &[NodeNeed]) -> Option<Ceiling> {
    let nodes = nodes.iter();
    let deciding = nodes.filter(|node| node.role != Role::Database);
    let known: Option<Vec<&Ceiling>> = deciding.map(|node| node.ceiling.as_ref()).collect();
    let known = known?.into_iter();
    let lowest = known.min_by(|one, other| one.per_s.value.total_cmp(&other.per_s.value));
    lowest.cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Histogram, MissingReadings};
    use crate::size::Need;
    use crate::size::synthetic::scenario;
    use primitives::Coded;

    fn report(scenarios: Vec<Scenario>) -> Report {
        Report {
            scenarios,
            ..Report::default()
        }
    }

    fn question(target_per_s: f64) -> Question {
        Question {
            target_per_s,
            p99_ms: None,
            retention: None,
            states: 1.0,
        }
    }

    #[test]
    fn needs_are_read_off_lines_within_and_beyond_what_was_measured() {
        let report = report(vec![scenario(&[1_000, 2_000, 4_000])]);
        for (target, factor, reachable) in [
            (2_000.0, 0.5, Some(true)),
            (20_000.0, 5.0, None),
            (40_000.0, 10.0, Some(false)),
        ] {
            let sizing = answer(&report, &question(target)).expect("an answer");
            assert_eq!(sizing.nodes.len(), 1, "the generator is no node");
            assert!((sizing.factor - factor).abs() < 1e-9);
            assert_eq!(
                (sizing.within, sizing.reach.reachable),
                (factor <= 1.0, reachable)
            );
            let node = &sizing.nodes[0];
            let at = |need: &Option<Need>| need.as_ref().expect("known").at_target.value;
            for (found, wanted) in [
                (at(&node.cores), target * 1e-4),
                (sizing.cores.as_ref().expect("known").value, target * 1e-4),
                (at(&node.sent_mbit_per_s), target * 8e-3),
                (at(&node.written_mb_per_s), target * 2e-3),
                (at(&node.commits_per_s), target * 0.1),
                (at(&node.memory_mb), (50.0 + target / 1_000.0).max(54.0)),
            ] {
                assert!(
                    (found - wanted).abs() < wanted * 0.01,
                    "{found} {wanted} {node:?}"
                );
            }
            let disk = node.disk.as_ref().expect("the files were read");
            let wanted = target * 500.0 * 86_400.0 / 1e9;
            assert!(
                (disk.gb_per_day.value - wanted).abs() < wanted * 0.01,
                "{disk:?}"
            );
        }
    }

    #[test]
    fn disk_comes_from_the_second_scenario() {
        let mut disk = scenario(&[1_000]);
        disk.points[0].at.clear();
        // The second stretch goes on where the first one ended.
        let first = disk.points[0].stretches[0].processes[0].samples[16].disk_bytes;
        for sample in &mut disk.points[0].stretches[1].processes[0].samples {
            sample.disk_bytes += first;
        }
        let report = report(vec![scenario(&[1_000, 2_000, 4_000]), disk]);
        let question = Question {
            retention: "10d".parse().ok(),
            ..question(1_000.0)
        };
        let sizing = answer(&report, &question).expect("an answer");
        let disk = sizing.nodes[0].disk.as_ref().expect("read");
        assert!((disk.bytes_per_unit.value - 500.0).abs() < 1.0, "{disk:?}");
        assert_eq!(disk.transactions_per_unit, Some(2.0));
        let transaction = disk.bytes_per_transaction.as_ref().expect("known");
        assert!((transaction.value - 250.0).abs() < 1.0);
        let retained = disk.retained.as_ref().expect("asked for");
        assert!(
            (retained.stored_gb.value - 432.0).abs() < 1.0,
            "{retained:?}"
        );
    }

    #[test]
    fn unknown_is_absent_and_never_0() {
        let mut levels = scenario(&[1_000, 2_000, 4_000]);
        for stretch in levels
            .points
            .iter_mut()
            .flat_map(|point| &mut point.stretches)
        {
            for sample in &mut stretch.processes[0].samples {
                sample.missing = MissingReadings {
                    process: true,
                    io: true,
                    counters: true,
                    disk: true,
                };
                sample.kernel_us = None;
            }
            stretch.metrics.clear();
            stretch.latencies = Histogram::default();
        }
        let question = Question {
            p99_ms: Some(200.0),
            ..question(500.0)
        };
        let sizing = answer(&report(vec![levels]), &question).expect("an answer");
        let json = serde_json::to_value(&sizing).expect("JSON");
        assert_eq!(
            json["nodes"],
            serde_json::json!([{ "name": "bank-1", "role": "node" }])
        );
        for absent in ["cores", "ceiling", "reachable"] {
            assert_eq!(json.get(absent), None, "{absent}");
        }
        let level = &json["evidence"][0];
        for absent in ["p99_ms", "cores", "memory_mb_max"] {
            assert_eq!(level.get(absent), None, "{absent}");
        }
        assert_eq!(json["latency"]["verdict"], "unknown");
    }

    #[test]
    fn one_node_without_a_reading_hides_the_lowest_ceiling() {
        let mut levels = scenario(&[1_000, 2_000, 4_000]);
        for (name, is_known) in [("database", true), ("bank-2", false)] {
            for stretch in levels
                .points
                .iter_mut()
                .flat_map(|point| &mut point.stretches)
            {
                let mut other = stretch.processes[0].clone();
                name.clone_into(&mut other.name);
                other
                    .samples
                    .iter_mut()
                    .for_each(|sample| sample.kernel_us = None);
                stretch.processes.push(other);
            }
            let report = report(vec![levels.clone()]);
            let sizing = answer(&report, &question(40_000.0)).expect("an answer");
            assert_eq!(sizing.ceiling.is_some(), is_known, "{name}");
            assert_eq!(sizing.reach.reachable, is_known.then_some(false));
        }
    }

    #[test]
    fn too_little_is_no_answer() {
        let few = report(vec![scenario(&[1_000, 2_000])]);
        let error = answer(&few, &question(10.0)).expect_err("four stretches");
        assert_eq!((error.stretches, error.code()), (4, "lab.nothing_to_size"));
        let mut blind = scenario(&[1, 2, 3, 4]);
        for point in &mut blind.points {
            point.stretches.iter_mut().for_each(|s| s.processes.clear());
        }
        for report in [report(vec![blind]), Report::default()] {
            assert!(answer(&report, &question(10.0)).is_err());
        }
    }
}
