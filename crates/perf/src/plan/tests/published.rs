//! The published figures of the shipped scenarios.

use std::collections::BTreeSet;

use crate::plan::{NoChecks, Options, SHIPPED, open};

/// Every figure by scenario and metric: the case, its value and its standard deviation, as its source has them. A few are derived:
/// attachments that are not cached are 50 times slower than 49 and 45 a second, a node that died after 16 of 100 transactions failed
/// 84, and 550 is the middle of 500 to 600. This project measured the servers of `chain-rate`.
const FIGURES: &str = "\
attachments-gateway, rate_per_s: 1 MB / near = 0.98; 10 MB / near = 0.9
attachments-limits, error_share: 100 / 50 MB = 0.84
attachments-sizes, rate_per_s: 1 MB / sent = 49; 10 MB / sent = 45; 1 MB / cold = 0.98; 10 MB / cold = 0.9
chain-demo, chain_tps: 144
chain-published, chain_tps: 40 threads, 5 s = 120; 40 threads, 2 s = 129; 50 threads, 10 s = 137; 50 threads, 5 s = 144
chain-published, chain_tps: 50 threads, 2 s = 150; 60 threads, 5 s = 117; 60 threads, 2 s = 149
chain-rate, chain_tps: 1 = 525; 4 = 111
chain-soak, chain_tps: 99.84
connection, sent_mbit_per_s: 1 / on = 550
cores, rate_per_s: 1 / issue = 90; 2 / issue = 103; 4 / issue = 225; 8 / issue = 350; 16 / issue = 730; 32 / issue = 1001
cores, rate_per_s: 1 / issue_and_pay = 14; 2 / issue_and_pay = 22; 4 / issue_and_pay = 46; 8 / issue_and_pay = 70
cores, rate_per_s: 16 / issue_and_pay = 130; 32 / issue_and_pay = 205
issue, rate_per_s: 2580; 1952; 146
issue-and-pay, rate_per_s: as issued = 205; as issued = 11
notary-kinds, rate_per_s: PostgreSQL / issue = 1001; PostgreSQL / issue and pay = 205; PostgreSQL / issue and pay = 144
notary-kinds, rate_per_s: PostgreSQL, replicated notary / issue and pay = 190; embedded / issue = 68; embedded / issue and pay = 8
notary-states, states_per_s: 10000000 / 1 = 1600
states-per-transaction, states_per_s: 1 = 617; 5 = 2525; 20 = 6560; 40 = 8880; 160 = 10240; 1 = 301; 1 = 14.8
swap-latency, mean_ms: 4 / sequential, one by one = 4500; 6 / sequential, one by one = 11500
swap-latency, mean_ms: 8 / sequential, one by one = 22400; 10 / sequential, one by one = 38000
swap-latency, mean_ms: 4 / sequential, bulk = 3000; 6 / sequential, bulk = 5800; 8 / sequential, bulk = 9700; 10 / sequential, bulk = 14400
swap-latency, mean_ms: 4 / parallel, bulk = 1100; 6 / parallel, bulk = 1650; 8 / parallel, bulk = 2300; 10 / parallel, bulk = 2950
swap-throughput, rate_per_s: 2 / sequential, one by one = 320; 4 / sequential, one by one = 181; 6 / sequential, one by one = 96
swap-throughput, rate_per_s: 8 / sequential, one by one = 62; 10 / sequential, one by one = 43
swap-throughput, rate_per_s: 2 / parallel, bulk = 390; 4 / parallel, bulk = 253; 6 / parallel, bulk = 145; 8 / parallel, bulk = 96
swap-throughput, rate_per_s: 10 / parallel, bulk = 66
tuning, rate_per_s: default (3.33 ms, 20 ms) / throughput, 4 parties = 256.3 +- 4
tuning, rate_per_s: no compression / throughput, 4 parties = 249.8 +- 4
tuning, rate_per_s: frequent flush (1 ms, 1 ms) / throughput, 4 parties = 255.6 +- 4.5
tuning, rate_per_s: medium flush (10 ms, 10 ms) / throughput, 4 parties = 257.3 +- 3.3
tuning, rate_per_s: infrequent flush (20 ms, 20 ms) / throughput, 4 parties = 254.5 +- 2.5
tuning, mean_ms: default (3.33 ms, 20 ms) / latency, 10 parties = 2740 +- 430
tuning, mean_ms: no compression / latency, 10 parties = 2880 +- 245
tuning, mean_ms: frequent flush (1 ms, 1 ms) / latency, 10 parties = 2660 +- 100
tuning, mean_ms: medium flush (10 ms, 10 ms) / latency, 10 parties = 2860 +- 100
tuning, mean_ms: infrequent flush (20 ms, 20 ms) / latency, 10 parties = 3285 +- 255
";

/// Returns each figure of the table with its scenario and metric.
fn wanted() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for line in FIGURES.lines() {
        let (series, figures) = line.split_once(": ").expect("a series and its figures");
        all.extend(
            figures
                .split("; ")
                .map(|figure| format!("{series}: {figure}")),
        );
    }
    all
}

/// Returns the same from the shipped scenarios.
fn shipped() -> BTreeSet<String> {
    let options = Options {
        full: true,
        set: Vec::new(),
    };
    let mut all = BTreeSet::new();
    for shipped in SHIPPED {
        let plan = open(shipped.name, &options, &NoChecks);
        let plan = plan.unwrap_or_else(|error| panic!("{}: {error}", shipped.name));
        for line in &plan.published {
            for (case, value) in &line.values {
                let deviation = line.deviations.get(case);
                let deviation = deviation.map_or(String::new(), |figure| format!(" +- {figure}"));
                let place = match case.as_str() {
                    "" => String::new(),
                    case => format!("{case} = "),
                };
                all.insert(format!(
                    "{}, {}: {place}{value}{deviation}",
                    shipped.name, line.metric
                ));
            }
        }
    }
    all
}

#[test]
fn published_figures_are_those_of_their_sources() {
    let (wanted, shipped) = (wanted(), shipped());
    let unknown: Vec<&String> = shipped.difference(&wanted).collect();
    let missing: Vec<&String> = wanted.difference(&shipped).collect();
    assert!(
        unknown.is_empty() && missing.is_empty(),
        "without a source: {unknown:#?}\nnot shipped: {missing:#?}"
    );
}
