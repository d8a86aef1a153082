//! `bench ledger`: issue and pay between two nodes and a notary, with the load on the same machine.

use std::collections::BTreeMap;
use std::time::Duration;

use perf::machine::SignatureRates;
use serde_json::{Value, json};

use super::BenchArgs;
use super::parts::{
    Part, at, latency_ms, machine, metric, only, per_s, rss_mb_max, run as run_all,
};
use crate::failure::Failure;

/// The payments from prepared coins.
const PAYMENTS: &str = "states-per-transaction";
/// Number of coins at the start of Repeated Pay.
const COINS: u32 = 1_000;
/// One unit after the other, enough of them for a 99th percentile.
const ONE_BY_ONE: [&str; 5] = [
    "load.outstanding=1",
    "run.warm_up_s=0.5",
    "run.seconds=15",
    "run.count=1000",
    "run.repeats=1",
];
/// Duration of each signature operation measured with many signers.
const SIGNERS_SLICE: Duration = Duration::from_millis(500);

/// Returns the scenarios.
pub(super) fn parts(arguments: &BenchArgs) -> [Part; 8] {
    let outstanding = format!("load.outstanding={}", arguments.outstanding);
    let at_full_speed = |name| Part::of(name).in_windows(arguments).with([&outstanding]);
    [
        at_full_speed("issue"),
        at_full_speed("issue-and-pay").with(["sweep.variant.only=['as issued']"]),
        at_full_speed(PAYMENTS).with([format!("work.coins={COINS}")]),
        at_full_speed(PAYMENTS).with(["work.coins=1", "sweep.states.only=[1]"]),
        Part::of("issue").with(ONE_BY_ONE),
        Part::of(PAYMENTS)
            .with(ONE_BY_ONE)
            .with(["sweep.states.only=[1]"]),
        Part::of("admission")
            .with(["sweep.'due per second'.only=[300]", "run.repeats=1"])
            .with(["run.warm_up_s=2", "run.seconds=8"]),
        // Each repeat begins with a restart. The second one finds the data of the first.
        Part::of("issue").with(["run.restart=repeats", "run.repeats=2", "run.seconds=5"]),
    ]
}

/// Runs the benchmark. Returns its line.
pub(super) fn run(arguments: &BenchArgs) -> Result<Value, Failure> {
    let signers = SignatureRates::measure(10_000, SIGNERS_SLICE);
    let (report, scenarios) = run_all("ledger", parts(arguments))?;
    let [
        issue,
        issue_pay,
        pays,
        one_coin,
        issue_alone,
        pay_alone,
        at_300,
        restarted,
    ] = &scenarios;
    let (issue, issue_pay, pay) = (only(issue)?, only(issue_pay)?, at(pays, &["1"])?);
    let (issue_alone, pay_alone) = (only(issue_alone)?, only(pay_alone)?);
    let mut states_per_s = BTreeMap::new();
    for point in &pays.points {
        let case = &point.at[0];
        let states = case.number.unwrap_or_default();
        states_per_s.insert(&case.name, per_s(at(pays, &[case.name.as_str()])?) * states);
    }
    Ok(json!({
        "issue_per_s": per_s(issue),
        "issue_pay_per_s": per_s(issue_pay),
        "repeated_pay_per_s": per_s(pay),
        "repeated_pay_coins": COINS,
        "repeated_pay_one_coin_per_s": per_s(only(one_coin)?),
        "repeated_pay_states_per_s": states_per_s,
        "latency_ms": {
            "issue_p50": latency_ms(issue_alone, 0.5),
            "issue_p99": latency_ms(issue_alone, 0.99),
            "pay_p50": latency_ms(pay_alone, 0.5),
            "pay_p99": latency_ms(pay_alone, 0.99),
        },
        "storage_bytes_per_issue": metric(issue, "disk_bytes_per_unit")?,
        "storage_bytes_per_pay": metric(pay, "disk_bytes_per_unit")?,
        "serial_us_issue": metric(issue, "serial_us_per_unit")?,
        "serial_us_issue_pay": metric(issue_pay, "serial_us_per_unit")?,
        "cpu_us_issue": metric(issue, "cpu_us_per_unit")?,
        "cpu_us_issue_pay": metric(issue_pay, "cpu_us_per_unit")?,
        "cpu_us_pay_at_300": metric(only(at_300)?, "cpu_us_per_unit")?,
        "rss_mb_max": rss_mb_max(&scenarios),
        "startup_ms": metric(only(restarted)?, "start_ms")?,
        "distinct_signers_10000": signers,
        "machine": machine(&report.machine),
    }))
}
