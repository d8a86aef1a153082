//! Made-up results of a run, for tests.

use crate::results::{
    CaseResult, Histogram, MetricSeries, Point, Process, ProcessSample, Scenario, Stretch,
};

/// Returns a stretch of 4 s at a rate, with a latency of 5 ms. A unit has two transactions. Its node uses 100 us for each unit; 40 us
/// of them are its deciding thread's. It also uses 500 bytes of disk, a tenth of a commit, and 2,000 written and 1,000 sent bytes.
pub(super) fn stretch(rate: u64) -> Stretch {
    let sample = |at_ms: u64| ProcessSample {
        at_ms: 1_000 + at_ms,
        cpu_ms: 7 + at_ms * rate / 10_000,
        rss_bytes: 50_000_000 + rate * 1_000,
        commits: at_ms * rate / 10_000,
        written_bytes: at_ms * rate * 2,
        sent_bytes: at_ms * rate,
        disk_bytes: at_ms * rate / 2,
        kernel_us: Some(at_ms * rate * 40 / 1_000),
        kernel_jobs_us: Some(0),
        ..ProcessSample::default()
    };
    let process = |name: &str| Process {
        name: name.into(),
        samples: (0..=16).map(|at| sample(at * 250)).collect(),
    };
    let series = |name: &str, values: [f64; 2]| MetricSeries {
        node: "bank-1".into(),
        name: name.into(),
        values: vec![(1_000, values[0]), (5_000, values[1])],
    };
    let live = rate as f64 / 100.0;
    Stretch {
        started_ms: 1_000,
        seconds: 4.0,
        done: rate * 4,
        latencies: Histogram {
            buckets: [(5_000, rate * 4)].into(),
        },
        processes: vec![process("bank-1"), process("generator")],
        metrics: vec![
            series("tally_flows_in_flight", [live, live]),
            series("tally_flows_bytes", [live * 15_000.0, live * 17_000.0]),
            series(
                "tally_transactions_recorded_total",
                [10.0, 10.0 + rate as f64 * 8.0],
            ),
        ],
        ..Stretch::default()
    }
}

/// Returns a scenario with two stretches at each rate. The rate is also the number of its case.
pub(super) fn scenario(rates: &[u64]) -> Scenario {
    let point = |rate: &u64| Point {
        at: vec![CaseResult {
            axis: "outstanding".into(),
            name: rate.to_string(),
            number: Some(*rate as f64),
        }],
        stretches: vec![stretch(*rate), stretch(*rate)],
        ..Point::default()
    };
    Scenario {
        points: rates.iter().map(point).collect(),
        ..Scenario::default()
    }
}
