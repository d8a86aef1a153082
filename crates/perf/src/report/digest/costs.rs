//! The cost of a unit of work, node by node.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::results::{Point, Process, Stretch};
use crate::stats::{Counter, folder_growth, serial_times};

/// The costs of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Costs {
    /// The nodes, in the order of the report.
    pub nodes: Vec<NodeCost>,
    /// All nodes together; `None` if nothing was counted. Processor time, written and stored bytes are those of the point's
    /// metrics.
    pub total: Option<Cost>,
}

/// The cost of one node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeCost {
    /// The node.
    pub node: String,
    /// Its cost.
    #[serde(flatten)]
    pub cost: Cost,
    /// Processor time of a unit on the node's deciding thread, without jobs that other threads could do, microseconds; null
    /// if it is unknown.
    pub serial_us_per_unit: Option<f64>,
}

/// Resources for one unit of work, the mean over the repeats. A value that one process lacks is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Processor time over all repeats together, core-seconds.
    pub core_s: Option<f64>,
    /// Processor time of a unit, core-seconds.
    pub core_s_per_unit: Option<f64>,
    /// Bytes sent to other nodes.
    pub sent_bytes_per_unit: Option<f64>,
    /// Bytes sent to clients.
    pub to_clients_bytes_per_unit: Option<f64>,
    /// Bytes passed to the operating system to be written to disk.
    pub written_bytes_per_unit: Option<f64>,
    /// Growth of the files on disk.
    pub stored_bytes_per_unit: Option<f64>,
}

/// Returns the costs of a point; empty if its processes were not monitored.
pub(super) fn of(point: &Point) -> Costs {
    let stretches = || point.stretches.iter().filter(|stretch| stretch.done > 0);
    let mut seen = BTreeSet::new();
    let names: Vec<&str> = stretches()
        .flat_map(processes)
        .map(|process| process.name.as_str())
        .filter(|name| seen.insert(*name))
        .collect();
    let nodes: Vec<NodeCost> = names
        .into_iter()
        .map(|name| NodeCost {
            node: name.to_owned(),
            cost: Cost::mean(stretches(), |process| process.name == name),
            serial_us_per_unit: serial_us(stretches(), name),
        })
        .collect();
    let total = (!nodes.is_empty()).then(|| together(point, Cost::mean(stretches(), |_| true)));
    Costs { nodes, total }
}

/// Returns the nodes and database servers of a stretch, without the load generator.
fn processes(stretch: &Stretch) -> impl Iterator<Item = &Process> {
    let processes = stretch.processes.iter();
    processes.filter(|process| !process.is_generator())
}

impl Cost {
    /// Returns the mean cost over the stretches with processes, as the metrics of a point are made.
    fn mean<'a>(
        stretches: impl Iterator<Item = &'a Stretch>,
        which: impl Fn(&Process) -> bool,
    ) -> Self {
        let stretches = stretches.filter(|stretch| processes(stretch).next().is_some());
        let stretches: Vec<&Stretch> = stretches.collect();
        let which = &which;
        let picked = |stretch: &'a Stretch| processes(stretch).filter(move |one| which(one));
        // Database servers have no counter of sent bytes.
        let counting = |stretch: &'a Stretch| {
            let is_alone = picked(stretch).all(|process| process.is_database());
            picked(stretch).filter(move |process| is_alone || !process.is_database())
        };
        let of_each = |of: &dyn Fn(&'a Stretch) -> Option<f64>| -> Option<Vec<f64>> {
            stretches.iter().map(|stretch| of(stretch)).collect()
        };
        let per_unit = |of: &dyn Fn(&'a Stretch) -> Option<f64>| {
            let each = of_each(&|stretch| Some(of(stretch)? / stretch.done as f64))?;
            (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
        };
        let core_s =
            |stretch: &'a Stretch| Some(Counter::CPU_MS.sum(picked(stretch))? as f64 / 1_000.0);
        let stored = |stretch: &'a Stretch| {
            let grown: Option<Vec<u64>> = picked(stretch).map(folder_growth).collect();
            Some(grown?.into_iter().map(|bytes| bytes as f64).sum())
        };
        Self {
            core_s: of_each(&core_s).map(|each| each.iter().sum()),
            core_s_per_unit: per_unit(&core_s),
            sent_bytes_per_unit: per_unit(&|stretch| {
                Some(Counter::SENT_BYTES.sum(counting(stretch))? as f64)
            }),
            to_clients_bytes_per_unit: per_unit(&|stretch| {
                Some(Counter::TO_CLIENTS_BYTES.sum(counting(stretch))? as f64)
            }),
            written_bytes_per_unit: per_unit(&|stretch| {
                Some(Counter::WRITTEN_BYTES.sum(picked(stretch))? as f64)
            }),
            stored_bytes_per_unit: per_unit(&stored),
        }
    }
}

/// Returns the mean serial time of a unit over the stretches that know it; `None` if none does.
fn serial_us<'a>(stretches: impl Iterator<Item = &'a Stretch>, name: &str) -> Option<f64> {
    let known = stretches.filter_map(|stretch| {
        let node = processes(stretch).find(|node| node.name == name)?;
        Some(serial_times(node)?.serial_us() as f64 / stretch.done as f64)
    });
    let known: Vec<f64> = known.collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// Returns the sum of the nodes with the figures that the point's metrics have too, so that both agree.
fn together(point: &Point, sum: Cost) -> Cost {
    let metric = |name: &str, scale: f64, otherwise: Option<f64>| {
        let found = point.summary.metrics.get(name);
        found.map_or(otherwise, |estimate| Some(estimate.value * scale))
    };
    Cost {
        core_s_per_unit: metric("cpu_us_per_unit", 1e-6, sum.core_s_per_unit),
        written_bytes_per_unit: metric("written_bytes_per_unit", 1.0, sum.written_bytes_per_unit),
        stored_bytes_per_unit: metric("disk_bytes_per_unit", 1.0, sum.stored_bytes_per_unit),
        ..sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{MissingReadings, ProcessSample};
    use crate::stats::summarise;

    /// Returns a node whose counters grow by these: processor, sent, written, stored.
    fn node(name: &str, grown: [u64; 4]) -> Process {
        let sample = |times: u64| ProcessSample {
            cpu_ms: 1_000 + grown[0] * times,
            sent_bytes: grown[1] * times,
            to_clients_bytes: 10 * times,
            written_bytes: grown[2] * times,
            disk_bytes: 5_000 + grown[3] * times,
            kernel_us: Some(900 + grown[0] * 500 * times),
            kernel_jobs_us: (name != "notary").then_some(grown[0] * 100 * times),
            ..ProcessSample::default()
        };
        Process {
            name: name.to_owned(),
            samples: vec![sample(0), sample(1)],
        }
    }

    fn stretch(done: u64, times: u64) -> Stretch {
        Stretch {
            seconds: 1.0,
            done,
            processes: vec![
                node("notary", [200 * times, 1_000, 3_000, 500]),
                node("bank-1", [600 * times, 4_000, 5_000, 1_500]),
                node("generator", [90_000, 90_000, 0, 0]),
            ],
            disk_bytes: Some(2_000),
            ..Stretch::default()
        }
    }

    #[test]
    fn costs_are_of_a_unit_and_agree_with_the_metrics() {
        let stretches = vec![stretch(10, 1), stretch(20, 3), stretch(0, 9)];
        let point = Point {
            summary: summarise(&stretches, 0.0),
            stretches,
            ..Point::default()
        };
        let costs = of(&point);
        let names: Vec<&str> = costs.nodes.iter().map(|one| one.node.as_str()).collect();
        assert_eq!(
            names,
            ["notary", "bank-1"],
            "the generator is no cost of the system"
        );
        // 20 and 30 ms a unit; 100 and 50 B a unit.
        let notary = costs.nodes[0].cost;
        for (found, expected) in [
            (notary.core_s, 0.8),
            (notary.core_s_per_unit, 0.025),
            (notary.sent_bytes_per_unit, 75.0),
            (notary.to_clients_bytes_per_unit, 0.75),
            (notary.written_bytes_per_unit, 225.0),
            (notary.stored_bytes_per_unit, 37.5),
        ] {
            let found = found.expect("observed");
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        let serial = costs.nodes.iter().map(|one| one.serial_us_per_unit);
        // 24 and 36 ms; the jobs of the notary's thread are unknown.
        assert_eq!(serial.collect::<Vec<_>>(), [None, Some(30_000.0)]);
        let total = costs.total.expect("nodes");
        let metric = |name: &str| point.summary.metrics[name].value;
        for (of, expected) in [
            (
                (|cost| cost.core_s_per_unit) as fn(&Cost) -> Option<f64>,
                metric("cpu_us_per_unit") * 1e-6,
            ),
            (
                |cost| cost.stored_bytes_per_unit,
                metric("disk_bytes_per_unit"),
            ),
        ] {
            assert_eq!(of(&total), Some(expected));
            let nodes = costs.nodes.iter();
            let sum: Option<f64> = nodes.map(|one| of(&one.cost)).sum();
            assert!((sum.expect("observed") - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn a_reading_that_one_node_lacks_leaves_the_sum_unknown() {
        let mut one = stretch(10, 1);
        one.processes[1].samples[1].missing = MissingReadings {
            io: true,
            counters: true,
            ..MissingReadings::default()
        };
        let costs = of(&Point {
            stretches: vec![one],
            ..Point::default()
        });
        let known = |cost: &Cost| {
            [
                cost.core_s_per_unit,
                cost.sent_bytes_per_unit,
                cost.written_bytes_per_unit,
                cost.stored_bytes_per_unit,
            ]
            .map(|part| part.is_some())
        };
        assert_eq!(known(&costs.nodes[0].cost), [true; 4]);
        assert_eq!(known(&costs.nodes[1].cost), [true, false, false, true]);
        let total = costs.total.expect("nodes");
        assert_eq!(known(&total), [true, false, false, true]);
    }

    #[test]
    fn what_was_not_monitored_has_no_costs() {
        assert_eq!(of(&Point::default()), Costs::default());
    }
}
