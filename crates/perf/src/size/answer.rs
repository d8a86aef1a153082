//! The answer of sizing: the needs of every node at a rate, and how far the rate lies beyond the measured range.

use primitives::{Coded, ErrorInfo};
use serde::Serialize;
use thiserror::Error;

use super::fit::{Reading, line, through_origin};
use crate::results::{Estimate, Machine, Process, ProcessSample, Report, Scenario, Stretch};
use crate::stats::{growth, mean_interval};

const MB: f64 = 1e6;
const GB: f64 = 1e9;
const DAY_S: f64 = 86_400.0;
/// Minimum number of stretches for a line with a useful interval.
const STRETCHES_MIN: usize = 6;

/// The codes of sizing.
pub const ERRORS: &[ErrorInfo] = &[ErrorInfo {
    code: "lab.nothing_to_size",
    cause: "A run to size from measured too little: fewer than six stretches with work done and processes watched.",
    action: "Read the faults that the run reports; give the stretches more time with --seconds.",
}];

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{stretches} stretches with work done and processes watched; at least {STRETCHES_MIN} are needed"
)]
pub struct SizeError {
    /// The number of stretches.
    pub stretches: usize,
}

impl Coded for SizeError {
    fn code(&self) -> &'static str {
        "lab.nothing_to_size"
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

/// The needs at a rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizing {
    /// The scenario.
    pub scenario: String,
    /// The rate asked for, units a second.
    pub target_per_s: f64,
    /// The highest rate that this machine showed, with everything on it.
    pub shown_per_s: Estimate,
    /// The target divided by that rate. Above 1, every need is extrapolated by this factor beyond the measured range.
    pub factor: f64,
    /// Whether the target lies within the measured range.
    pub within: bool,
    /// The needs of each node.
    pub nodes: Vec<NodeNeed>,
    /// Cores of all nodes together.
    pub cores: Estimate,
    /// Cores, memory and processor of this machine: the meaning of a core in the answer.
    pub machine: Machine,
    /// The measurements, level by level.
    pub evidence: Vec<Evidence>,
    /// Stretches that the lines go through.
    pub stretches: usize,
    /// The method of the answer, in words.
    pub model: String,
}

/// The needs of one node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeNeed {
    /// `notary`, `bank-1`, ...
    pub name: String,
    /// Processor cores in use.
    pub cores: Need,
    /// Resident memory, megabytes (10^6). At least the largest measured value.
    pub memory_mb: Need,
    /// Growth of its files, gigabytes (10^9) a day at this rate around the clock.
    pub disk_gb_per_day: Need,
    /// Sent to other nodes, Mbit/s on the wire.
    pub sent_mbit_per_s: Need,
    /// Received from them.
    pub received_mbit_per_s: Need,
}

/// A need at the target, and the line that it is computed from.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Need {
    /// At the target, with the 95 % interval for one further stretch at that rate.
    pub at_target: Estimate,
    /// At no load, by the line.
    pub at_zero: f64,
    /// The value for each unit per second.
    pub per_unit_per_s: f64,
}

/// One measured level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Units outstanding.
    pub outstanding: String,
    /// Rate, units a second.
    pub rate_per_s: Estimate,
    /// The 99th percentile of latency, milliseconds.
    pub p99_ms: f64,
    /// Cores of all nodes together.
    pub cores: f64,
    /// Resident memory of the largest node, megabytes.
    pub memory_mb_max: f64,
}

/// One node's resource use in one stretch.
struct Use {
    rate: f64,
    units: f64,
    cores: f64,
    memory_mb: f64,
    disk_gb: f64,
    sent_mbit_per_s: f64,
    received_mbit_per_s: f64,
}

/// Computes the needs at a target from a report of [`super::plan`]'s scenario.
///
/// # Errors
/// Fails if too little was measured.
pub fn answer(
    report: &Report,
    scenario: &Scenario,
    target_per_s: f64,
) -> Result<Sizing, SizeError> {
    let stretches: Vec<&Stretch> = scenario
        .points
        .iter()
        .flat_map(|point| &point.stretches)
        .filter(|stretch| stretch.done > 0 && nodes(stretch).any(|node| window(node).is_some()))
        .collect();
    if stretches.len() < STRETCHES_MIN {
        return Err(SizeError {
            stretches: stretches.len(),
        });
    }
    let mut names: Vec<&str> = Vec::new();
    for node in stretches.iter().flat_map(|stretch| nodes(stretch)) {
        if !names.contains(&node.name.as_str()) {
            names.push(&node.name);
        }
    }
    let needs: Vec<NodeNeed> = names
        .iter()
        .map(|name| need(name, &stretches, target_per_s))
        .collect();
    let evidence: Vec<Evidence> = scenario
        .points
        .iter()
        .filter_map(|point| {
            let outstanding = point.at.first().map_or("", |at| at.name.as_str());
            level(outstanding, &point.stretches)
        })
        .collect();
    let shown = evidence
        .iter()
        .map(|level| level.rate_per_s.clone())
        .max_by(|one, other| one.value.total_cmp(&other.value))
        .unwrap_or_default();
    let all = stretches.iter().map(|stretch| {
        let cores = nodes(stretch)
            .filter_map(|node| used(node, stretch))
            .map(|of| of.cores);
        (stretch.per_s(), cores.sum())
    });
    let all: Vec<(f64, f64)> = all.collect();
    let factor = if shown.value > 0.0 {
        target_per_s / shown.value
    } else {
        f64::INFINITY
    };
    Ok(Sizing {
        scenario: scenario.name.clone(),
        target_per_s,
        factor,
        within: factor <= 1.0,
        nodes: needs,
        cores: line(&all, target_per_s).map(|found| found.at).unwrap_or_default(),
        machine: report.machine.clone(),
        stretches: stretches.len(),
        model: "a straight line of least squares for each node over the rates of all stretches, \
                read at the target with the 95 % interval of one more stretch; disk by a line through the origin; \
                memory at least what was seen"
            .to_owned(),
        shown_per_s: shown,
        evidence,
    })
}

fn nodes(stretch: &Stretch) -> impl Iterator<Item = &Process> {
    let all = stretch.processes.iter();
    all.filter(|process| !process.is_generator())
}

/// Returns the first and the last reading of a process. Each stretch is monitored separately, so they are its beginning
/// and its end. The size of its folder is read only then.
fn window(process: &Process) -> Option<(&ProcessSample, &ProcessSample)> {
    let (first, last) = (process.samples.first()?, process.samples.last()?);
    (last.at_ms > first.at_ms).then_some((first, last))
}

fn used(process: &Process, stretch: &Stretch) -> Option<Use> {
    let (first, last) = window(process)?;
    let seconds = (last.at_ms - first.at_ms) as f64 / 1_000.0;
    let counted = |of: fn(&ProcessSample) -> u64| growth(&process.samples, of) as f64;
    // A folder may shrink, as after a compaction. It needs no further room then.
    let disk_bytes = last.disk_bytes.saturating_sub(first.disk_bytes);
    let rss = process.samples.iter().map(|sample| sample.rss_bytes).max();
    let rate = stretch.per_s();
    Some(Use {
        rate,
        units: rate * seconds,
        cores: counted(|sample| sample.cpu_ms) / 1_000.0 / seconds,
        memory_mb: rss.expect("a first sample") as f64 / MB,
        disk_gb: disk_bytes as f64 / GB,
        sent_mbit_per_s: counted(|sample| sample.sent_bytes) * 8.0 / MB / seconds,
        received_mbit_per_s: counted(|sample| sample.received_bytes) * 8.0 / MB / seconds,
    })
}

fn need(name: &str, stretches: &[&Stretch], target: f64) -> NodeNeed {
    let uses: Vec<Use> = stretches
        .iter()
        .flat_map(|stretch| nodes(stretch).map(move |node| (node, *stretch)))
        .filter(|(node, _)| node.name == name)
        .filter_map(|(node, stretch)| used(node, stretch))
        .collect();
    let by_rate = |of: fn(&Use) -> f64| {
        let points: Vec<(f64, f64)> = uses.iter().map(|it| (it.rate, of(it))).collect();
        line(&points, target).map(Need::from).unwrap_or_default()
    };
    let grown: Vec<(f64, f64)> = uses.iter().map(|it| (it.units, it.disk_gb)).collect();
    let disk = through_origin(&grown, target * DAY_S).map(Need::from);
    let mut memory = by_rate(|it| it.memory_mb);
    let seen = uses.iter().map(|it| it.memory_mb).fold(0.0, f64::max);
    let at = &mut memory.at_target;
    at.value = at.value.max(seen);
    at.low = at.low.map(|low| low.max(seen));
    at.high = at.high.map(|high| high.max(seen));
    NodeNeed {
        name: name.to_owned(),
        cores: by_rate(|it| it.cores),
        memory_mb: memory,
        disk_gb_per_day: disk.unwrap_or_default(),
        sent_mbit_per_s: by_rate(|it| it.sent_mbit_per_s),
        received_mbit_per_s: by_rate(|it| it.received_mbit_per_s),
    }
}

fn level(outstanding: &str, stretches: &[Stretch]) -> Option<Evidence> {
    let rates: Vec<f64> = stretches.iter().map(Stretch::per_s).collect();
    let rate_per_s = mean_interval(&rates)?;
    let mut latencies = crate::results::Histogram::default();
    for stretch in stretches {
        latencies.merge(&stretch.latencies);
    }
    let together = |stretch: &Stretch| -> f64 {
        let uses = nodes(stretch).filter_map(|node| used(node, stretch));
        uses.map(|of| of.cores).sum()
    };
    let cores: Vec<f64> = stretches.iter().map(together).collect();
    let memory = stretches
        .iter()
        .flat_map(|stretch| nodes(stretch).filter_map(|node| used(node, stretch)))
        .map(|of| of.memory_mb);
    Some(Evidence {
        outstanding: outstanding.to_owned(),
        rate_per_s,
        p99_ms: latencies.quantile_ms(0.99),
        cores: cores.iter().sum::<f64>() / cores.len().max(1) as f64,
        memory_mb_max: memory.fold(0.0, f64::max),
    })
}

impl From<Reading> for Need {
    fn from(reading: Reading) -> Self {
        Self {
            at_target: reading.at,
            at_zero: reading.at_zero,
            per_unit_per_s: reading.per_unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CaseResult, Histogram, Point};

    /// Returns a stretch of 4 s at a rate. Its node uses 100 us, 500 bytes of disk and 1,000 sent bytes for each unit.
    fn stretch(rate: u64) -> Stretch {
        let sample = |at_ms: u64| ProcessSample {
            at_ms: 1_000 + at_ms,
            cpu_ms: 7 + at_ms * rate / 10_000,
            rss_bytes: 50_000_000 + rate * 1_000,
            sent_bytes: at_ms * rate,
            disk_bytes: at_ms * rate / 2,
            ..ProcessSample::default()
        };
        Stretch {
            started_ms: 1_000,
            seconds: 4.0,
            done: rate * 4,
            latencies: Histogram {
                buckets: [(5_000, rate * 4)].into(),
            },
            processes: vec![
                Process {
                    name: "bank-1".into(),
                    samples: (0..=16).map(|at| sample(at * 250)).collect(),
                },
                Process {
                    name: "generator".into(),
                    samples: (0..=16).map(|at| sample(at * 250)).collect(),
                },
            ],
            ..Stretch::default()
        }
    }

    #[test]
    fn counters_of_a_restarted_node_add_up() {
        let mut restarted = stretch(1_000);
        let samples = &mut restarted.processes[0].samples;
        let (cpu_ms, sent_bytes) = (samples[8].cpu_ms, samples[8].sent_bytes);
        for sample in &mut samples[9..] {
            sample.cpu_ms -= cpu_ms;
            sample.sent_bytes -= sent_bytes;
        }
        let whole = stretch(1_000);
        let of = |stretch: &Stretch| used(&stretch.processes[0], stretch).expect("two samples");
        let (restarted, whole) = (of(&restarted), of(&whole));
        assert_eq!(restarted.cores, whole.cores);
        assert_eq!(restarted.sent_mbit_per_s, whole.sent_mbit_per_s);
    }

    fn scenario(rates: &[u64]) -> Scenario {
        let point = |rate: &u64| Point {
            at: vec![CaseResult {
                axis: "outstanding".into(),
                name: rate.to_string(),
                number: None,
            }],
            stretches: vec![stretch(*rate), stretch(*rate)],
            ..Point::default()
        };
        Scenario {
            points: rates.iter().map(point).collect(),
            ..Scenario::default()
        }
    }

    #[test]
    fn needs_are_read_off_lines_within_and_beyond_what_was_measured() {
        let scenario = scenario(&[1_000, 2_000, 4_000]);
        for (target, factor, cores) in [(2_000.0, 0.5, 0.2), (40_000.0, 10.0, 4.0)] {
            let sizing = answer(&Report::default(), &scenario, target).expect("an answer");
            assert_eq!(sizing.nodes.len(), 1, "the generator is no node");
            assert!((sizing.factor - factor).abs() < 1e-9);
            assert_eq!(sizing.within, factor <= 1.0);
            let node = &sizing.nodes[0];
            assert!(
                (node.cores.at_target.value - cores).abs() < 0.01,
                "{node:?}"
            );
            assert!((sizing.cores.value - cores).abs() < 0.01);
            let sent = target * 1_000.0 * 8.0 / 1e6;
            assert!((node.sent_mbit_per_s.at_target.value - sent).abs() < sent * 0.01);
            let disk = target * 500.0 * 86_400.0 / 1e9;
            assert!((node.disk_gb_per_day.at_target.value - disk).abs() < disk * 0.01);
            let memory = node.memory_mb.at_target.value;
            assert!(
                (memory - (50.0 + target / 1_000.0).max(54.0)).abs() < 0.1,
                "{memory}"
            );
        }
    }

    #[test]
    fn too_little_is_no_answer() {
        let few = scenario(&[1_000, 2_000]);
        let error = answer(&Report::default(), &few, 10.0).expect_err("four stretches");
        assert_eq!((error.stretches, error.code()), (4, "lab.nothing_to_size"));
        let mut blind = scenario(&[1, 2, 3, 4]);
        for point in &mut blind.points {
            point.stretches.iter_mut().for_each(|s| s.processes.clear());
        }
        assert!(answer(&Report::default(), &blind, 10.0).is_err());
    }
}
