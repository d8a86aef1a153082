//! `bench load`: a node with many connections and followers at once, and under ten times its capacity.

use std::collections::BTreeMap;

use perf::measure::load_average;
use perf::results::{Process, Stretch};
use serde_json::{Value, json};

use super::BenchArgs;
use super::parts::{Part, at, latency_ms, metric, only, per_s, rss_mb_max, run as run_all};
use crate::failure::Failure;

/// The node under load.
const ASKED: &str = "bank-1";

/// Returns the scenarios with connections and followers, and of the capacity.
pub(super) fn parts(arguments: &BenchArgs) -> [Part; 2] {
    let (connections, followers) = (arguments.connections, arguments.followers);
    // All followers, all connections of requests, and the laboratory's own connections.
    let connections_max = connections + followers + 64;
    let setting = "network.nodes.bank-1.settings.api.connections_max";
    let beside = Part::of("followers").in_windows(arguments).with([
        format!("load.outstanding={connections}"),
        format!("sweep.followers.values=[0,{followers}]"),
        format!("{setting}={connections_max}"),
    ]);
    let closed = Part::of("issue-and-pay").in_windows(arguments).with([
        format!("load.outstanding={}", arguments.outstanding),
        "sweep.variant.only=['as issued']".to_owned(),
    ]);
    [beside, closed]
}

/// Returns the scenario of the overload.
pub(super) fn overload(arguments: &BenchArgs, offered_per_s: f64) -> Part {
    Part::of("admission").with([
        "sweep=[]".to_owned(),
        "work.kind=issue_and_pay".to_owned(),
        format!("load.rate={offered_per_s}"),
        "load.poisson=false".to_owned(),
        // Far above the limits of a node, so that the node refuses first.
        "load.outstanding_max=50000".to_owned(),
        "run.warm_up_s=0".to_owned(),
        format!("run.seconds={}", arguments.overload_seconds),
        "run.repeats=1".to_owned(),
    ])
}

/// Runs the benchmark. Returns its line.
pub(super) fn run(arguments: &BenchArgs) -> Result<Value, Failure> {
    let (_, scenarios) = run_all("load", parts(arguments))?;
    let [beside, closed] = &scenarios;
    let followers = arguments.followers;
    let (alone, followed) = (at(beside, &["0"])?, at(beside, &[&followers.to_string()])?);
    let capacity = per_s(only(closed)?);
    let offered = capacity * f64::from(arguments.overload);
    let (_, overloaded) = run_all("load", [overload(arguments, offered)])?;
    let point = only(&overloaded[0])?;
    let stretch = &point.stretches[0];
    let faults = stretch.faults.iter();
    let refused: BTreeMap<&String, u64> = faults.map(|fault| (&fault.code, fault.count)).collect();
    Ok(json!({
        "connections": arguments.connections,
        "followers": followers,
        "alone_per_s": per_s(alone),
        "followed_per_s": per_s(followed),
        "followed_share": per_s(followed) / per_s(alone),
        "connections_rss_mb": metric(followed, "rss_mb_max")?,
        "overload": {
            "capacity_per_s": capacity,
            "offered_per_s": offered,
            "seconds": arguments.overload_seconds,
            "due": stretch.due,
            "dropped": stretch.dropped,
            "generator_behind_ms_max": stretch.generator.behind_max_ms,
            "accepted": stretch.done,
            "accepted_per_s": stretch.per_s(),
            "refused": refused,
            "accepted_p50_ms": latency_ms(point, 0.5),
            "accepted_p99_ms": latency_ms(point, 0.99),
            "rss_mb": memory(stretch),
        },
        "rss_mb_max": rss_mb_max(scenarios.iter().chain(&overloaded)),
        "load_average": load_average(),
    }))
}

/// Returns the resident memory of the node under load at the begin of a stretch, and its peak in each quarter of it, in megabytes.
fn memory(stretch: &Stretch) -> Vec<f64> {
    let is_asked = |process: &&Process| process.name == ASKED;
    let samples = stretch.processes.iter().find(is_asked);
    let samples = samples.map(|process| process.samples.as_slice());
    let samples = samples.unwrap_or_default();
    let first = samples.iter().take(1);
    let quarters = samples.chunks(samples.len().div_ceil(4).max(1));
    let peak = |part: &[perf::results::ProcessSample]| {
        let most = part.iter().map(|sample| sample.rss_bytes).max();
        most.unwrap_or(0) as f64 / 1e6
    };
    let before = first.map(|sample| sample.rss_bytes as f64 / 1e6);
    before.chain(quarters.map(peak)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf::results::ProcessSample;

    #[test]
    fn memory_is_read_before_and_in_quarters() {
        let sample = |mb: u64| ProcessSample {
            rss_bytes: mb * 1_000_000,
            ..ProcessSample::default()
        };
        for (samples, expected) in [
            (
                &[10, 20, 40, 30, 50, 20, 10, 5][..],
                &[10.0, 20.0, 40.0, 50.0, 10.0][..],
            ),
            (&[10, 20], &[10.0, 10.0, 20.0]),
            (&[], &[]),
        ] {
            let process = Process {
                name: ASKED.to_owned(),
                samples: samples.iter().copied().map(sample).collect(),
            };
            let stretch = Stretch {
                processes: vec![Process::default(), process],
                ..Stretch::default()
            };
            assert_eq!(memory(&stretch), expected);
        }
    }
}
