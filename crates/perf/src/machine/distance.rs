//! Compares a result with the limits of this machine.

use std::collections::{BTreeMap, BTreeSet};

use crate::measure::ceiling_per_s;
use crate::results::{Distance, Machine, MetricSeries, Point, Process, Stretch};
use crate::stats::{Counter, serial_node, serial_share};

/// The limit of the machine that nodes and load share.
pub const ALL_CORES: &str = "cores, nodes and load generator";
/// Signatures that a node checked, by its own count.
const CHECKS: &str = "tally_signature_batch_checks_sum";
/// Signatures that it made.
const SIGNS: &str = "tally_signatures_made_total";
/// Bytes that it hashed.
const HASHED: &str = "tally_hashed_bytes_total";

/// Returns the share of the machine that a point used. It covers only values that nodes and the operating system counted.
/// Without counts an entry is left out; without measured limits all are.
pub fn distance(point: &Point, machine: &Machine) -> Vec<Distance> {
    let Some(limits) = &machine.limits else {
        return Vec::new();
    };
    let stretches = &point.stretches;
    let is_measured = |process: &Process| !process.is_generator();
    let cpu_s = |ms: f64| ms / 1000.0;
    let found = [
        Distance {
            what: "cores, nodes".to_owned(),
            used: or_0(per_s(stretches, is_measured, Counter::CPU_MS).map(cpu_s)),
            limit: f64::from(node_cores(stretches, machine)),
            note: "processor time of all nodes, and the cores that they may use".to_owned(),
            can_pass: false,
        },
        Distance {
            what: ALL_CORES.to_owned(),
            used: or_0(per_s(stretches, |_| true, Counter::CPU_MS).map(cpu_s)),
            limit: f64::from(machine.cores),
            note: "processor time of all nodes and of the laboratory itself, on this machine"
                .to_owned(),
            can_pass: false,
        },
        Distance {
            what: "cores, load generator".to_owned(),
            used: generator_cores(stretches),
            limit: f64::from(generators(stretches)),
            note: "processor time of the load generator, as it measures it; its load comes from one thread"
                .to_owned(),
            can_pass: false,
        },
        Distance {
            what: "signature checks a second".to_owned(),
            used: or_0(counted_per_s(stretches, CHECKS)),
            limit: limits.checks_per_s,
            note: "one core that does nothing else, in batches of 64".to_owned(),
            can_pass: true,
        },
        Distance {
            what: "signatures made a second".to_owned(),
            used: or_0(counted_per_s(stretches, SIGNS)),
            limit: limits.signs_per_s,
            note: "one core that does nothing else".to_owned(),
            can_pass: true,
        },
        Distance {
            what: "SHA-256, MB a second".to_owned(),
            used: or_0(counted_per_s(stretches, HASHED).map(|bytes| bytes / 1e6)),
            limit: limits.hash_mb_per_s,
            note: "one core that does nothing else, messages of 16 KiB; TLS hashes of its own do not count".to_owned(),
            can_pass: true,
        },
        Distance {
            what: "durable commits a second".to_owned(),
            used: or_0(per_s(stretches, is_node, Counter::COMMITS)),
            limit: limits.commits_per_s,
            note: "4 KiB each, one after the other".to_owned(),
            can_pass: true,
        },
        Distance {
            what: "loopback, Mbit/s of the node that sends most".to_owned(),
            used: or_0(sent_mbit_per_s(stretches)),
            limit: limits.tls_mbit_per_s,
            note: "one TLS connection over loopback, both ends here".to_owned(),
            can_pass: true,
        },
    ];
    let found = found.into_iter().chain(deciding_thread(stretches));
    let found = found.chain(of_few_cores(stretches));
    let counted = |distance: &Distance| distance.used > 0.0 && distance.limit > 0.0;
    found.filter(counted).collect()
}

/// Returns the cores that the nodes may use together. All get the first cores of the machine, so it is the most that one may use.
fn node_cores(stretches: &[Stretch], machine: &Machine) -> u32 {
    let processes = stretches.iter().flat_map(|stretch| &stretch.processes);
    let measured = processes.filter(|process| !process.is_generator());
    let cores = measured.map(|process| process.cores().unwrap_or(machine.cores));
    // Without processes nothing is used either.
    cores
        .max()
        .map_or(machine.cores, |most| most.min(machine.cores))
}

/// Returns the use of each node that has fewer cores than the machine.
fn of_few_cores(stretches: &[Stretch]) -> Vec<Distance> {
    let processes = stretches.iter().flat_map(|stretch| &stretch.processes);
    let limited = processes.filter(|process| !process.is_generator());
    let limited: BTreeMap<&str, u32> = limited
        .filter_map(|process| Some((process.name.as_str(), process.cores()?)))
        .collect();
    let distance = |(name, cores): (&str, u32)| {
        let used_ms = per_s(stretches, |one| one.name == name, Counter::CPU_MS)?;
        Some(Distance {
            what: format!("cores, {name}"),
            used: used_ms / 1000.0,
            limit: f64::from(cores),
            note: "processor time of this process, and the cores that it may use".to_owned(),
            can_pass: false,
        })
    };
    limited.into_iter().filter_map(distance).collect()
}

/// Returns the rate next to the one at which the busiest deciding thread fills a core; `None` if that is unknown.
fn deciding_thread(stretches: &[Stretch]) -> Option<Distance> {
    let node = serial_node(stretches)?;
    let known = || {
        stretches
            .iter()
            .filter_map(|stretch| Some((stretch.per_s(), serial_share(stretch)?)))
    };
    let count = known().count() as f64;
    let us_per_unit = known().map(|(_, share)| share.us_per_unit).sum::<f64>() / count;
    Some(Distance {
        what: format!("units a second, deciding thread of {node}"),
        used: known().map(|(per_s, _)| per_s).sum::<f64>() / count,
        limit: ceiling_per_s(us_per_unit),
        note: "this thread fills a core then; more cores do not help".to_owned(),
        can_pass: false,
    })
}

/// Returns the mean over the stretches of the generator's own measurement, so that it equals `generator_cpu_cores`.
fn generator_cores(stretches: &[Stretch]) -> f64 {
    let cores = stretches.iter().map(|stretch| stretch.generator.cpu_cores);
    cores.sum::<f64>() / stretches.len().max(1) as f64
}

/// Returns the number of processes that generated, agents included, at least 1.
fn generators(stretches: &[Stretch]) -> u32 {
    let agents = stretches.iter().map(|stretch| stretch.generator.agents);
    agents.fold(1, u32::max)
}

/// Returns 0 for a value that is not known. An entry with 0 is left out.
fn or_0(known: Option<f64>) -> f64 {
    known.unwrap_or(0.0)
}

/// Returns whether a process is a node, which counts its commits and the bytes that it sends.
fn is_node(process: &Process) -> bool {
    !process.is_generator() && !process.is_database()
}

/// Returns the growth per second of a counter of the processes that `which` selects, over all stretches. `None` if the growth of one is
/// unknown, because it may be the largest part.
fn per_s(stretches: &[Stretch], which: impl Fn(&Process) -> bool, counter: Counter) -> Option<f64> {
    let (mut sum, mut seconds) = (0.0, 0.0);
    for stretch in stretches {
        let picked = || stretch.processes.iter().filter(|process| which(process));
        sum += counter.sum(picked())? as f64;
        seconds += picked().map(watched_s).fold(0.0, f64::max);
    }
    (seconds > 0.0).then(|| sum / seconds)
}

/// Returns the seconds from the first of some times to the last; 0 without times.
fn span_s(times_ms: impl Iterator<Item = u64> + Clone) -> f64 {
    let ends = times_ms.clone().min().zip(times_ms.max());
    ends.map_or(0.0, |(first, last)| (last - first) as f64 / 1000.0)
}

fn watched_s(process: &Process) -> f64 {
    span_s(process.samples.iter().map(|sample| sample.at_ms))
}

/// Returns the growth per second of a counter that nodes report, summed over all nodes. `None` if a node did not report it.
fn counted_per_s(stretches: &[Stretch], name: &str) -> Option<f64> {
    let (mut sum, mut seconds) = (0.0, 0.0);
    for stretch in stretches {
        let counted = || stretch.metrics.iter().filter(|series| series.name == name);
        let mut nodes = stretch.processes.iter().filter(|one| is_node(one));
        if !nodes.all(|node| counted().any(|series| series.node == node.name)) {
            return None;
        }
        sum += counted().map(grown).sum::<f64>();
        seconds += counted()
            .map(|series| span_s(series.values.iter().map(|(at_ms, _)| *at_ms)))
            .fold(0.0, f64::max);
    }
    (seconds > 0.0).then(|| sum / seconds)
}

/// Returns the growth of a counter. A counter that falls was restarted and counts from 0.
fn grown(series: &MetricSeries) -> f64 {
    let steps = series.values.windows(2).map(|pair| {
        let (before, after) = (pair[0].1, pair[1].1);
        if after >= before {
            after - before
        } else {
            after
        }
    });
    steps.sum()
}

/// Returns the rate of the node that sends most; `None` if that of a node is unknown.
fn sent_mbit_per_s(stretches: &[Stretch]) -> Option<f64> {
    let processes = stretches.iter().flat_map(|stretch| &stretch.processes);
    let nodes = processes.filter(|process| is_node(process));
    let names: BTreeSet<&str> = nodes.map(|node| node.name.as_str()).collect();
    let rates = names.into_iter().map(|name| {
        let is_it = |process: &Process| process.name == name;
        Some(per_s(stretches, is_it, Counter::SENT_BYTES)? * 8.0 / 1e6)
    });
    let rates: Option<Vec<f64>> = rates.collect();
    rates?.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Generator, Limits, MissingReadings, ProcessSample};

    fn process(name: &str, cpu_ms: u64, commits: u64, sent_bytes: u64) -> Process {
        let sample = |at_ms, times| ProcessSample {
            at_ms,
            cpu_ms: cpu_ms * times,
            commits: commits * times,
            sent_bytes: sent_bytes * times,
            ..ProcessSample::default()
        };
        Process {
            name: name.to_owned(),
            samples: vec![sample(1000, 1), sample(3000, 3)],
        }
    }

    #[test]
    fn a_node_on_few_cores_is_measured_by_these() {
        let limited = |mut process: Process, cores: Option<u32>| {
            let samples = process.samples.iter_mut();
            samples.for_each(|sample| sample.cores = cores);
            process
        };
        let machine = Machine {
            cores: 8,
            limits: Some(Limits::default()),
            ..Machine::default()
        };
        for (notary, bank, expected) in [
            // 300 and 980 ms in each second.
            (None, None, &[("cores, nodes", 1.28, 8.0)][..]),
            (
                None,
                Some(1),
                &[("cores, nodes", 1.28, 8.0), ("cores, bank-1", 0.98, 1.0)],
            ),
            (
                Some(2),
                Some(1),
                &[
                    ("cores, nodes", 1.28, 2.0),
                    ("cores, bank-1", 0.98, 1.0),
                    ("cores, notary", 0.3, 2.0),
                ],
            ),
        ] {
            let stretch = Stretch {
                processes: vec![
                    limited(process("notary", 300, 0, 0), notary),
                    limited(process("bank-1", 980, 0, 0), bank),
                ],
                ..Stretch::default()
            };
            let point = Point {
                stretches: vec![stretch],
                ..Point::default()
            };
            let found = distance(&point, &machine);
            let found = found.iter().filter(|one| one.what != ALL_CORES);
            let found = found.map(|one| (one.what.as_str(), one.used, one.limit));
            assert_eq!(found.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn what_was_counted_stands_beside_its_limit() {
        let stretch = Stretch {
            processes: vec![
                process("notary", 300, 40, 10_000),
                process("bank-1", 700, 60, 250_000),
                process("generator", 100, 0, 9_000_000),
            ],
            metrics: [
                ("notary", CHECKS, 1.0),
                ("bank-1", CHECKS, 1.0),
                ("notary", SIGNS, 0.0),
                ("bank-1", SIGNS, 0.1),
                ("notary", HASHED, 0.0),
                ("bank-1", HASHED, 20_000.0),
            ]
            .map(|(node, name, times)| MetricSeries {
                node: node.to_owned(),
                name: name.to_owned(),
                values: vec![
                    (1000, 100.0 * times),
                    (2000, 600.0 * times),
                    (3000, 500.0 * times),
                ],
            })
            .into(),
            generator: Generator {
                cpu_cores: 0.2,
                ..Generator::default()
            },
            ..Stretch::default()
        };
        let point = Point {
            stretches: vec![stretch.clone(), stretch],
            ..Point::default()
        };
        let mut machine = Machine {
            cores: 2,
            ..Machine::default()
        };
        assert!(
            distance(&point, &machine).is_empty(),
            "no limits were measured"
        );
        machine.limits = Some(Limits {
            checks_per_s: 10_000.0,
            signs_per_s: 1000.0,
            hash_mb_per_s: 100.0,
            commits_per_s: 1000.0,
            tls_mbit_per_s: 100.0,
            ..Limits::default()
        });
        let found = distance(&point, &machine);
        let used: Vec<f64> = found.iter().map(|distance| distance.used).collect();
        // Each node checked 500, was restarted, and checked 500 more, in two seconds; one signed a tenth of that and hashed 20 MB.
        // The generator's own measurement counts for its row, the system's for the sum.
        assert_eq!(used, [1.0, 1.1, 0.2, 1000.0, 50.0, 10.0, 100.0, 2.0]);
        let shares: Vec<f64> = found.iter().map(Distance::share).collect();
        assert_eq!(shares, [0.5, 0.55, 0.2, 0.1, 0.05, 0.1, 0.1, 0.02]);
        let nothing = Point::default();
        assert!(distance(&nothing, &machine).is_empty());
        // What one node does not report is unknown of all together.
        let mut partial = point;
        let stretch = &mut partial.stretches[1];
        stretch.processes[1].samples[0].missing = MissingReadings {
            process: true,
            counters: true,
            ..MissingReadings::default()
        };
        stretch.metrics.retain(|one| one.node == "bank-1");
        let found = distance(&partial, &machine);
        let left: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(left, ["cores, load generator"]);
    }
}
