//! A synthetic report made from a seed, as a run might produce it. The tests of pages and files use it.

use std::collections::BTreeMap;

use crate::results::{
    AuditResult, CONDITIONS, CaseResult, Distance, Estimate, Fault, Finding, Generator, Histogram,
    Limits, Machine, MetricSeries, Point, Process, ProcessSample, Published, Report, SCHEMA,
    Scenario, Second, Stretch, Summary, Trial,
};
use crate::stats::summarise;

/// A small generator of numbers; the same seed gives the same report.
pub struct Dice(u64);

impl Dice {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// Rounds a figure to three decimals, which JSON preserves.
    fn figure(value: f64) -> f64 {
        (value * 1000.0).round() / 1000.0
    }

    /// Returns a number between 0 and 1.
    pub fn share(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64) / f64::from(1u32 << 31)
    }

    /// Returns a number near 1, with about this spread.
    pub fn around(&mut self, spread: f64) -> f64 {
        let sum: f64 = (0..6).map(|_| self.share()).sum();
        1.0 + (sum - 3.0) * spread
    }
}

/// The properties of a synthetic stretch.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Units a second.
    pub rate: f64,
    /// Median latency.
    pub p50_ms: f64,
    /// Measured seconds.
    pub seconds: u64,
    /// Banks in addition to the notary.
    pub banks: u32,
    /// Share of units that fail.
    pub failing: f64,
}

/// Returns one stretch that begins at `at_ms`.
pub fn stretch(dice: &mut Dice, shape: Shape, at_ms: u64) -> Stretch {
    let mut series = Vec::new();
    let mut latencies = Histogram::default();
    let (mut done, mut failed) = (0, 0);
    for second in 0..shape.seconds {
        let slow = if second % 17 == 11 { 0.7 } else { 1.0 };
        let this = (shape.rate * dice.around(0.05) * slow).max(0.0) as u64;
        let wrong = (this as f64 * shape.failing * dice.around(0.3)).max(0.0) as u64;
        done += this;
        failed += wrong;
        let p50_ms = Dice::figure(shape.p50_ms * dice.around(0.05) / slow);
        series.push(Second {
            at_ms: at_ms + second * 1000,
            done: this,
            failed: wrong,
            p50_ms,
            p99_ms: Dice::figure(p50_ms * 2.6 * dice.around(0.12)),
            outstanding: (32.0 * dice.around(0.1)) as u64,
        });
    }
    for _ in 0..2000 {
        let (one, two) = (dice.share().max(1e-9), dice.share());
        let normal = (-2.0 * one.ln()).sqrt() * (two * std::f64::consts::TAU).cos();
        let us = shape.p50_ms * 1000.0 * (normal * 0.38).exp()
            + if dice.share() > 0.997 {
                shape.p50_ms * 9000.0
            } else {
                0.0
            };
        let digits = 10f64.powf((us.log10().floor() - 2.0).max(0.0));
        *latencies
            .buckets
            .entry(((us / digits).ceil() * digits) as u64)
            .or_default() += 1;
    }
    let mut processes = Vec::new();
    for name in ["notary", "generator"]
        .map(str::to_owned)
        .into_iter()
        .chain((1..=shape.banks).map(|bank| format!("bank-{bank}")))
    {
        processes.push(process(dice, name, shape, at_ms));
    }
    let looks = || (0..=shape.seconds * 2).map(|at| at_ms + at * 500);
    let metrics = ["notary", "bank-1", "bank-2"].map(|node| MetricSeries {
        node: node.to_owned(),
        name: "tally_flows_in_flight".to_owned(),
        values: looks()
            .map(|at| (at, (24.0 * dice.around(0.2)).round()))
            .collect(),
    });
    let mut total = 0.0;
    let rows = MetricSeries {
        node: "bank-1".to_owned(),
        name: "tally_signature_batch_checks_sum".to_owned(),
        values: looks()
            .map(|at| {
                total += (shape.rate * 1.6 * dice.around(0.1)).round();
                (at, total)
            })
            .collect(),
    };
    Stretch {
        started_ms: at_ms,
        seconds: shape.seconds as f64 + 0.07,
        due: done + failed,
        done,
        faults: match failed {
            0 => Vec::new(),
            failed => vec![
                Fault {
                    code: "node.busy".into(),
                    count: failed - failed / 5,
                    message: "the node has no room for another flow; retry after 250 ms".into(),
                },
                Fault {
                    code: "flow.timed_out".into(),
                    count: failed / 5,
                    message: "no answer within 30 s".into(),
                },
            ],
        },
        latencies,
        series,
        generator: Generator {
            cpu_cores: Dice::figure(0.14 * dice.around(0.2)),
            lag_p99_ms: 0.4,
            lag_max_ms: 2.1,
            behind_max_ms: 1.2,
            late_after_ms: 10.0,
            agents: 1,
            agents_lost: 0,
        },
        processes,
        metrics: metrics.into_iter().chain([rows]).collect(),
        disk_bytes: Some(done * 2100),
        ..Stretch::default()
    }
}

fn process(dice: &mut Dice, name: String, shape: Shape, at_ms: u64) -> Process {
    let busy = match name.as_str() {
        "notary" => 0.45,
        "generator" => 0.14,
        "bank-1" => 0.62,
        _ => 0.2,
    };
    let mut sample = ProcessSample {
        at_ms,
        cpu_ms: 1500,
        rss_bytes: 88_000_000,
        kernel_us: (name != "generator").then_some(750_000),
        kernel_jobs_us: (name != "generator").then_some(300_000),
        ..ProcessSample::default()
    };
    let mut samples = Vec::new();
    for _ in 0..=shape.seconds * 2 {
        samples.push(sample.clone());
        sample.at_ms += 500;
        sample.cpu_ms += (500.0 * busy * dice.around(0.15)) as u64;
        sample.rss_bytes += (300_000.0 * dice.share()) as u64;
        if name != "generator" {
            sample.disk_bytes += (shape.rate * 350.0 * dice.around(0.1)) as u64;
            sample.written_bytes += (shape.rate * 900.0 * dice.around(0.1)) as u64;
            sample.commits += (shape.rate * 0.3 * dice.around(0.1)) as u64;
            sample.sent_bytes += (shape.rate * 700.0 * dice.around(0.1)) as u64;
            sample.to_clients_bytes += (shape.rate * 150.0) as u64;
            sample.received_bytes += (shape.rate * 600.0 * dice.around(0.1)) as u64;
            sample.kernel_us = Some(sample.cpu_ms * 500);
            sample.kernel_jobs_us = Some(sample.cpu_ms * 200);
        }
    }
    Process { name, samples }
}

/// Returns a point of `repeats` stretches, with its summary.
pub fn point(
    dice: &mut Dice,
    at: &[(&str, &str, Option<f64>)],
    shape: Shape,
    repeats: u64,
    clock: &mut u64,
) -> Point {
    let stretches: Vec<Stretch> = (0..repeats)
        .map(|_| {
            let stretch = stretch(dice, shape, *clock);
            *clock += shape.seconds * 1000 + 1400;
            stretch
        })
        .collect();
    let mut metrics = BTreeMap::new();
    let mut add = |name: &str, value: f64, spread: f64| {
        let value = Dice::figure(value);
        let interval = (repeats > 1).then_some(Dice::figure(value * spread));
        metrics.insert(
            name.to_owned(),
            Estimate {
                value,
                low: interval.map(|margin| Dice::figure(value - margin)),
                high: interval.map(|margin| Dice::figure(value + margin)),
            },
        );
    };
    let rate = stretches.iter().map(Stretch::per_s).sum::<f64>() / repeats.max(1) as f64;
    add("rate_per_s", rate, 0.034);
    add("states_per_s", rate * 2.0, 0.034);
    add("mean_ms", shape.p50_ms * 1.1, 0.05);
    add("p50_ms", shape.p50_ms, 0.04);
    add("p90_ms", shape.p50_ms * 1.63, 0.05);
    add("p95_ms", shape.p50_ms * 1.87, 0.06);
    add("p99_ms", shape.p50_ms * 2.6, 0.11);
    add("max_ms", shape.p50_ms * 11.0, 0.4);
    add("error_share", shape.failing / (1.0 + shape.failing), 0.2);
    add("cpu_us_per_unit", 1_270_000.0 / rate.max(1.0), 0.03);
    add("serial_us_per_unit", 186_000.0 / rate.max(1.0), 0.03);
    add("ceiling_per_s", rate.max(1.0) * 5.376, 0.03);
    add("rss_mb_max", 117.0, 0.02);
    add("disk_bytes_per_unit", 2100.0, 0.01);
    add("sent_mbit_per_s", rate * 1400.0 * 8.0 / 1e6, 0.03);
    Point {
        at: at
            .iter()
            .map(|(axis, name, number)| CaseResult {
                axis: (*axis).to_owned(),
                name: (*name).to_owned(),
                number: *number,
            })
            .collect(),
        system: String::new(),
        stretches,
        summary: Summary { metrics },
        audits: vec![AuditResult {
            clean: true,
            words: "every acknowledged transaction is recorded by all it concerns, no state is consumed twice, issued minus exited is held"
                .into(),
            transactions: 24_310,
        }],
        distances: vec![Distance {
            what: "durable commits a second".into(),
            used: Dice::figure(rate * 2.0),
            limit: 9_000.0,
            note: "4 KiB each, one after the other".into(),
            can_pass: true,
        }],
    }
}

fn scenario(name: &str, title: &str, main_metric: &str, axes: &[&str]) -> Scenario {
    Scenario {
        name: name.to_owned(),
        title: title.to_owned(),
        about: "What it shows, in a sentence or two that a manager understands without knowing the system.".to_owned(),
        source: format!("title = \"{title}\"\nseed = 7\n[network]\nbanks = 3\n[[work]]\nkind = \"swap\"\n[run]\nseconds = 5\nrepeats = 5\n"),
        seed: 7,
        started_unix_ms: 1_795_281_959_000,
        seconds: 83.0,
        axes: axes.iter().map(|axis| (*axis).to_owned()).collect(),
        main_metric: main_metric.to_owned(),
        ..Scenario::default()
    }
}

fn published(label: &str, source: &str, metric: &str, values: &[(&str, f64)]) -> Published {
    Published {
        label: label.to_owned(),
        source: source.to_owned(),
        conditions: CONDITIONS
            .map(|(key, title)| (key.to_owned(), format!("{title} of {label}")))
            .into(),
        metric: metric.to_owned(),
        values: values
            .iter()
            .map(|(case, value)| ((*case).to_owned(), *value))
            .collect(),
        ..Published::default()
    }
}

const SERVERS: &str = "Corda performance benchmarking results; 11 nodes on 4 servers of 24 cores, PostgreSQL on 4 more";

/// Returns a combined report of several kinds of scenario, including a failed one.
pub fn report() -> Report {
    let mut dice = Dice::new(11);
    let mut clock = 4000;
    let base = Shape {
        rate: 1200.0,
        p50_ms: 9.0,
        seconds: 5,
        banks: 2,
        failing: 0.0,
    };

    let mut issue = scenario("issue", "Issue: one state to oneself", "rate_per_s", &[]);
    let shape = Shape {
        rate: 11_400.0,
        p50_ms: 2.6,
        seconds: 30,
        ..base
    };
    issue.points = vec![point(&mut dice, &[], shape, 3, &mut clock)];
    issue.published = vec![
        published(
            "Corda Enterprise 4.0",
            "Corda performance benchmarking results; node on 24 cores, SQL Server on a machine of its own",
            "rate_per_s",
            &[("", 2580.0)],
        ),
        published(
            "Corda Open Source 4.10",
            "measured by us: notary, two nodes and client on two cores, embedded database",
            "rate_per_s",
            &[("", 146.0)],
        ),
    ];

    let mut swap = scenario(
        "swap-latency",
        "Swap latency by parties, back chain of depth 10",
        "mean_ms",
        &["parties", "variant"],
    );
    clock = 4000;
    for (parties, number) in [("4", 4.0), ("6", 6.0), ("8", 8.0), ("10", 10.0)] {
        for (variant, factor) in [
            ("parallel, bulk", 1.0),
            ("sequential, bulk", 2.4),
            ("sequential, one by one", 5.1),
        ] {
            let p50_ms = (8.0 + 17.0 * number) * factor;
            let shape = Shape {
                rate: 1000.0 / p50_ms,
                p50_ms,
                banks: 10,
                ..base
            };
            let at = [
                ("parties", parties, Some(number)),
                ("variant", variant, None),
            ];
            swap.points
                .push(point(&mut dice, &at, shape, 5, &mut clock));
        }
    }
    swap.published = vec![
        published(
            "Corda Enterprise 4.3",
            SERVERS,
            "mean_ms",
            &[
                ("4", 4500.0),
                ("6", 11_500.0),
                ("8", 22_400.0),
                ("10", 38_000.0),
            ],
        ),
        published(
            "Corda Enterprise 4.4",
            SERVERS,
            "mean_ms",
            &[
                ("4", 3000.0),
                ("6", 5800.0),
                ("8", 9700.0),
                ("10", 14_400.0),
            ],
        ),
        published(
            "Corda Enterprise 4.5",
            SERVERS,
            "mean_ms",
            &[("4", 1100.0), ("6", 1650.0), ("8", 2300.0), ("10", 2950.0)],
        ),
    ];
    swap.findings = vec![Finding {
        code: "lab.short_window".into(),
        message: "A stretch measured 5 s; drift over hours cannot show. Run it with --full.".into(),
    }];

    let mut states = scenario(
        "states",
        "Output states a second by states per transaction",
        "states_per_s",
        &["states"],
    );
    clock = 4000;
    for (name, number) in [
        ("1", 1.0),
        ("5", 5.0),
        ("20", 20.0),
        ("40", 40.0),
        ("160", 160.0f64),
    ] {
        let shape = Shape {
            rate: 2600.0 / number.powf(0.62),
            p50_ms: 9.0 * number.powf(0.55),
            ..base
        };
        let mut one = point(
            &mut dice,
            &[("states", name, Some(number))],
            shape,
            5,
            &mut clock,
        );
        let rate = one.summary.metrics["rate_per_s"].clone();
        let times = |end: Option<f64>| end.map(|end| Dice::figure(end * number));
        let scaled = Estimate {
            value: Dice::figure(rate.value * number),
            low: times(rate.low),
            high: times(rate.high),
        };
        one.summary.metrics.insert("states_per_s".into(), scaled);
        states.points.push(one);
    }
    let values = [
        ("1", 617.0),
        ("5", 2525.0),
        ("20", 6560.0),
        ("40", 8880.0),
        ("160", 10_240.0),
    ];
    states.published = vec![published(
        "Corda Enterprise 4.0",
        SERVERS,
        "states_per_s",
        &values,
    )];

    let mut tuning = scenario(
        "tuning",
        "Tuning: compression and flushing",
        "rate_per_s",
        &["setting"],
    );
    clock = 4000;
    for (name, factor) in [
        ("as shipped", 1.0),
        ("no compression", 0.96),
        ("commits linger 1 ms", 1.01),
        (
            "commits linger 10 ms, frames linger 10 ms, and a name that is much longer than any chart has room for",
            0.8,
        ),
    ] {
        let shape = Shape {
            rate: 870.0 * factor,
            ..base
        };
        tuning.points.push(point(
            &mut dice,
            &[("setting", name, None)],
            shape,
            5,
            &mut clock,
        ));
    }
    let values = [("as shipped", 256.3), ("no compression", 249.8)];
    tuning.published = vec![published(
        "Corda Enterprise 4.5",
        SERVERS,
        "rate_per_s",
        &values,
    )];

    let mut admission = scenario(
        "admission",
        "Admission: ten times more than it can do",
        "rate_per_s",
        &[],
    );
    clock = 4000;
    let shape = Shape {
        rate: 4400.0,
        p50_ms: 530.0,
        seconds: 60,
        failing: 4.2,
        ..base
    };
    admission.points = vec![point(&mut dice, &[], shape, 1, &mut clock)];
    for stretch in &mut admission.points[0].stretches {
        (stretch.dropped, stretch.late, stretch.retries) = (1204, 77, 31);
        stretch.tried = vec![(2000.0, true), (8000.0, false), (4400.0, true)];
        let trials = stretch.tried.iter();
        let trials = trials.map(|(rate, _)| Trial::of(*rate, stretch)).collect();
        stretch.trials = trials;
    }

    let mut broken = scenario(
        "broken",
        "Payments while a node is killed",
        "rate_per_s",
        &[],
    );
    clock = 4000;
    broken.points = vec![point(&mut dice, &[], base, 1, &mut clock)];
    broken.points[0].audits = vec![AuditResult {
        clean: false,
        words: "transaction 5f0c…91 was acknowledged and bank-2 does not have it".into(),
        transactions: 5990,
    }];
    broken.failure =
        Some("client.connection_lost: the connection to 127.0.0.1:10443 was lost".into());

    Report {
        schema: SCHEMA,
        title: "The laboratory's small run".into(),
        started_unix_ms: 1_795_281_959_000,
        seconds: 1284.0,
        version: "0.4.0".into(),
        machine: Machine {
            processor: "AMD EPYC 9B14".into(),
            cores: 2,
            memory_bytes: 16_000_000_000,
            system: "Linux 6.8.0".into(),
            virtual_machine: "yes (Some Cloud)".into(),
            disk: "ext4 on vda, not rotating".into(),
            busy_cores_before: Some(0.04),
            load_average_before: 0.31,
            load_average_after: 2.12,
            limits: Some(Limits {
                signs_per_s: 61_000.0,
                checks_per_s: 38_000.0,
                hash_mb_per_s: 1750.0,
                commits_per_s: 5200.0,
                commit_us: 171.0,
                tls_mbit_per_s: 8300.0,
                loopback_us: 38.0,
                files: None,
            }),
        },
        scenarios: vec![issue, swap, states, tuning, admission, broken],
        interrupted: false,
    }
}

/// Returns a report of one scenario with five repeats of 60 s. Its summary follows from them.
pub fn quotable(name: &str) -> Report {
    let mut report = report();
    report.scenarios.retain(|scenario| scenario.name == name);
    let mut dice = Dice::new(3);
    let shape = Shape {
        rate: 900.0,
        p50_ms: 5.0,
        seconds: 60,
        banks: 2,
        failing: 0.001,
    };
    for scenario in &mut report.scenarios {
        for one in &mut scenario.points {
            let at = std::mem::take(&mut one.at);
            *one = point(&mut dice, &[], shape, 5, &mut 0);
            one.summary = summarise(&one.stretches, 2.0);
            one.at = at;
        }
    }
    report
}
