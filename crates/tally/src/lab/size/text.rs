//! The answer of sizing as text.

use perf::report::{bytes, number};
use perf::results::Estimate;
use perf::size::{LatencyAnswer, Need, NodeNeed, Retention, Sizing};

use crate::output::{Table, stdout_ink};

/// Factor beyond which a linear extrapolation is marked as a guess.
const FACTOR_FAR: f64 = 3.0;
/// The words for a quantity that could not be observed.
const UNKNOWN: &str = "unknown";

/// Returns the answer for people.
pub(super) fn people(sizing: &Sizing, retention: Option<Retention>) -> String {
    let mut head = format!(
        "{} at {} a second",
        sizing.scenario,
        number(sizing.target_per_s)
    );
    if let Some(latency) = &sizing.latency {
        head.push_str(&format!(", p99 at most {} ms", number(latency.bound_ms)));
    }
    if let Some(retention) = retention {
        head.push_str(&format!(", kept for {retention}"));
    }
    let reachable = match sizing.reach.reachable {
        Some(true) => "yes",
        Some(false) => "no",
        None => UNKNOWN,
    };
    let together = sizing.cores.as_ref().map(interval);
    let parts = [
        head,
        format!("reachable: {reachable}. {}", sizing.reach.reason),
        range_words(sizing),
        [
            ceiling_words(sizing),
            sizing.latency.as_ref().map(latency_words),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n"),
        needs(sizing),
        format!("all together: {} cores", cell(together)),
        disk(sizing, retention),
        network(sizing),
        evidence(sizing),
        format!(
            "An I/O is a durable commit: a write to the log and a sync that the device has finished. Writes of tables come on top, as MB/s.\n\
             {} stretches; model: {}",
            sizing.stretches, sizing.model
        ),
    ];
    parts.join("\n\n")
}

fn needs(sizing: &Sizing) -> String {
    let mut table = Table::new(&[
        "role",
        "name",
        ">cores",
        ">memory MB",
        ">a live flow",
        ">IOPS",
        ">written MB/s",
        ">ceiling /s",
    ]);
    for node in &sizing.nodes {
        let live = node.live_flow_bytes.as_ref().map(bytes_of);
        let ceiling = node
            .ceiling
            .as_ref()
            .map(|ceiling| number(ceiling.per_s.value));
        table.row([
            node.role.name().to_owned(),
            node.name.clone(),
            need(node.cores.as_ref()),
            need(node.memory_mb.as_ref()),
            cell(live),
            need(node.commits_per_s.as_ref()),
            need(node.written_mb_per_s.as_ref()),
            cell(ceiling),
        ]);
    }
    table.render(stdout_ink())
}

fn disk(sizing: &Sizing, retention: Option<Retention>) -> String {
    let kept = retention.map_or_else(String::new, |retention| format!(">GB in {retention}"));
    let mut headers = vec![
        "disk",
        ">a transaction",
        ">a state",
        ">transactions a unit",
        ">a unit",
        ">GB a day",
    ];
    if retention.is_some() {
        headers.extend([kept.as_str(), ">room for merges, GB"]);
    }
    let mut table = Table::new(&headers);
    let is_split = |node: &NodeNeed| {
        node.disk
            .as_ref()
            .is_some_and(|disk| disk.bytes_per_state.is_some())
    };
    for node in &sizing.nodes {
        let of = node.disk.as_ref();
        let one = |found: Option<&Estimate>| cell(found.map(bytes_of));
        let mut row = vec![
            node.name.clone(),
            one(of.and_then(|disk| disk.bytes_per_transaction.as_ref())),
            one(of.and_then(|disk| disk.bytes_per_state.as_ref())),
            cell(of.and_then(|disk| disk.transactions_per_unit).map(number)),
            one(of.map(|disk| &disk.bytes_per_unit)),
            cell(of.map(|disk| interval(&disk.gb_per_day))),
        ];
        if retention.is_some() {
            let retained = of.and_then(|disk| disk.retained.as_ref());
            row.push(cell(retained.map(|kept| interval(&kept.stored_gb))));
            row.push(cell(
                retained.and_then(|kept| kept.allowance_gb).map(number),
            ));
        }
        table.row(row);
    }
    let note = match sizing.nodes.iter().any(is_split) {
        true => "A transaction is counted without its states.",
        false => {
            "A transaction is counted with its states: the work does not vary their number, or the files could not be observed."
        }
    };
    format!("{}\n{note}", table.render(stdout_ink()))
}

fn network(sizing: &Sizing) -> String {
    let mut table = Table::new(&[
        "network, Mbit/s",
        ">to nodes",
        ">from nodes",
        ">to clients",
        ">from clients",
    ]);
    for node in &sizing.nodes {
        table.row([
            node.name.clone(),
            need(node.sent_mbit_per_s.as_ref()),
            need(node.received_mbit_per_s.as_ref()),
            need(node.to_clients_mbit_per_s.as_ref()),
            need(node.from_clients_mbit_per_s.as_ref()),
        ]);
    }
    table.render(stdout_ink())
}

fn evidence(sizing: &Sizing) -> String {
    let mut table = Table::new(&[
        ">outstanding",
        ">rate /s",
        ">p99 ms",
        ">cores, all nodes",
        ">memory MB, largest node",
        ">largest database",
    ]);
    for level in &sizing.evidence {
        table.row([
            level.outstanding.clone(),
            interval(&level.rate_per_s),
            cell(level.p99_ms.map(number)),
            cell(level.cores.map(number)),
            cell(level.memory_mb_max.map(number)),
            cell(level.database_memory_mb_max.map(number)),
        ]);
    }
    table.render(stdout_ink())
}

/// Returns the ceiling of the limiting thread.
fn ceiling_words(sizing: &Sizing) -> Option<String> {
    let Some(ceiling) = &sizing.ceiling else {
        return Some("The ceiling of one thread is unknown: the times of the nodes' threads could not be read.".to_owned());
    };
    Some(format!(
        "Ceiling: one thread of {} spends {} µs on each unit, so it ends at most {} a second on any number of cores like these.",
        ceiling.node,
        number(ceiling.serial_us_per_unit.value),
        interval(&ceiling.per_s)
    ))
}

/// Returns the highest rate within the bound on latency.
fn latency_words(latency: &LatencyAnswer) -> String {
    let bound = number(latency.bound_ms);
    match (latency.rate_per_s, &latency.outstanding) {
        (Some(rate), Some(outstanding)) => format!(
            "Latency: on this machine p99 is at most {bound} ms up to {} a second, at about {outstanding} outstanding.",
            number(rate)
        ),
        _ => format!(
            "Latency: on this machine no level is known to keep p99 within {bound} ms; with one unit outstanding it is {}.",
            cell(latency.lowest_p99_ms.map(|ms| format!("{} ms", number(ms))))
        ),
    }
}

/// Returns the machine's measured maximum and its distance from the target.
fn range_words(sizing: &Sizing) -> String {
    let machine = &sizing.machine;
    let shown = format!(
        "This machine ({} cores of {}, {} GB) showed at most {} a second with every node and the load on it.",
        machine.cores,
        machine.processor,
        number(machine.memory_bytes as f64 / 1e9),
        interval(&sizing.shown_per_s),
    );
    let factor = number(sizing.factor);
    let far = if sizing.within {
        format!("The target is {factor} times that: within what was measured.")
    } else if sizing.factor <= FACTOR_FAR {
        format!(
            "The target is {factor} times that, beyond what this machine showed: the lines below are extended as far."
        )
    } else {
        format!(
            "The target is {factor} times that, far beyond what this machine showed: what follows is a first guess by \
             straight lines. Measure on a larger machine before relying on it."
        )
    };
    format!("{shown}\n{far}")
}

fn need(need: Option<&Need>) -> String {
    cell(need.map(|need| interval(&need.at_target)))
}

fn cell(known: Option<String>) -> String {
    known.unwrap_or_else(|| UNKNOWN.to_owned())
}

/// Returns `1.2 kB (1.1 kB to 1.3 kB)`.
fn bytes_of(estimate: &Estimate) -> String {
    around(estimate, bytes)
}

/// Returns `12 (10 to 14)`.
fn interval(estimate: &Estimate) -> String {
    around(estimate, number)
}

fn around(estimate: &Estimate, written: fn(f64) -> String) -> String {
    let value = written(estimate.value);
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!("{value} ({} to {})", written(low.max(0.0)), written(high))
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf::results::Machine;
    use perf::size::{Ceiling, LatencyVerdict, Reach, Role};

    fn estimate(value: f64) -> Estimate {
        Estimate {
            value,
            low: Some(value / 2.0),
            high: Some(value * 2.0),
        }
    }

    fn sizing(factor: f64) -> Sizing {
        Sizing {
            scenario: "issue".into(),
            target_per_s: 500.0,
            reach: Reach {
                reachable: None,
                reason: "because".into(),
                nodes_min: None,
            },
            shown_per_s: estimate(100.0),
            factor,
            within: factor <= 1.0,
            latency: None,
            ceiling: None,
            nodes: Vec::new(),
            cores: Some(estimate(3.0)),
            machine: Machine::default(),
            evidence: Vec::new(),
            stretches: 15,
            model: "a line".into(),
        }
    }

    #[test]
    fn it_is_said_how_far_the_target_is_from_what_was_shown() {
        for (factor, words) in [
            (0.5, "within what was measured"),
            (2.0, "beyond what this machine showed: the lines below"),
            (20.0, "a first guess"),
        ] {
            let text = people(&sizing(factor), None);
            assert!(text.contains(words), "{text}");
            assert!(text.contains("all together: 3 (1.5 to 6) cores"), "{text}");
        }
    }

    #[test]
    fn constraints_and_the_ceiling_are_named() {
        let mut sizing = sizing(0.5);
        sizing.ceiling = Some(Ceiling {
            node: "bank-1".into(),
            serial_us_per_unit: estimate(50.0),
            per_s: estimate(20_000.0),
        });
        sizing.latency = Some(LatencyAnswer {
            bound_ms: 200.0,
            rate_per_s: Some(900.0),
            outstanding: Some("32".into()),
            lowest_p99_ms: Some(5.0),
            verdict: LatencyVerdict::Met,
        });
        for (reachable, word) in [(Some(true), "yes"), (Some(false), "no"), (None, "unknown")] {
            sizing.reach.reachable = reachable;
            let text = people(&sizing, "5y".parse().ok());
            for words in [
                "issue at 500 a second, p99 at most 200 ms, kept for 5 years",
                &format!("reachable: {word}. because"),
                "one thread of bank-1 spends 50 µs on each unit, so it ends at most 20,000 (10,000 to 40,000) a second",
                "p99 is at most 200 ms up to 900 a second, at about 32 outstanding",
                "GB in 5 years",
            ] {
                assert!(text.contains(words), "{words}: {text}");
            }
        }
    }

    #[test]
    fn what_was_not_observed_is_called_unknown() {
        let mut sizing = sizing(0.5);
        sizing.cores = None;
        sizing.nodes.push(NodeNeed {
            name: "bank-1".into(),
            role: Role::Node,
            cores: None,
            memory_mb: None,
            live_flow_bytes: None,
            disk: None,
            commits_per_s: None,
            written_mb_per_s: None,
            sent_mbit_per_s: None,
            received_mbit_per_s: None,
            to_clients_mbit_per_s: None,
            from_clients_mbit_per_s: None,
            ceiling: None,
        });
        let text = people(&sizing, "1y".parse().ok());
        let rows = text.lines().filter(|line| line.contains("bank-1"));
        let counts: Vec<usize> = rows.map(|row| row.matches(UNKNOWN).count()).collect();
        assert_eq!(counts, [6, 7, 4], "{text}");
        assert!(text.contains("all together: unknown cores"), "{text}");
    }
}
