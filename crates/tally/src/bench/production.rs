//! `bench production`: nodes on a database server and a replicated notary, against nodes with their own store. A bank's second process takes over first.
//! Then scenarios of the laboratory run, each with its audit, and the figures come from their reports.

use std::collections::BTreeMap;

use perf::measure::{load_average, median};
use perf::results::Stretch;
use serde_json::{Value, json};

use super::BenchArgs;
use super::parts::{Part, at, by_point, median_of, per_s, run as run_all};
use super::takeover::{self, Fault};
use crate::demo::progress::Step;
use crate::demo::signals;
use crate::failure::Failure;

/// Outstanding flows of the failover: few enough that a payment takes a small part of a second without a fault.
const FAILOVER_OUTSTANDING: u32 = 100;
/// Minimum length of a window with a fault, in seconds.
const FAULT_SECONDS: u32 = 6;
/// States consumed before, and states in a request, of the two figures of their own.
const MILLION: [&str; 2] = ["1000000", "100"];
const TEN_MILLION: [&str; 2] = ["10000000", "100"];

/// Returns the scenarios.
pub(super) fn parts(arguments: &BenchArgs) -> [Part; 3] {
    let database = Part::of("database")
        .in_windows(arguments)
        .with([format!("load.outstanding={}", arguments.outstanding)]);
    // Its published size has one and ten million states. Its own load fits into the queues of the notary with requests of every size.
    let notary = Part::full("notary-states").in_windows(arguments);
    // A fault needs time before and after it.
    let failover = Part::of("failover").in_windows(arguments).with([
        format!("load.outstanding={FAILOVER_OUTSTANDING}"),
        format!(
            "run.seconds={}",
            arguments.window_seconds.max(FAULT_SECONDS)
        ),
    ]);
    [database, notary, failover]
}

/// Runs the benchmark. Returns its line.
pub(super) fn run(arguments: &BenchArgs) -> Result<Value, Failure> {
    let parts = parts(arguments);
    for part in &parts {
        // A faulty setting costs no minute.
        part.open()?;
    }
    // They take a minute. A failure does not cost the other figures.
    let takeover = takeovers(arguments.windows)?;
    let (_, [database, notary, failover]) = run_all("production", parts)?;
    let (pg, own) = (
        per_s(at(&database, &["postgres"])?),
        per_s(at(&database, &["embedded"])?),
    );
    let mut galera_notary = by_point(&notary, Stretch::per_s)?;
    for (rate, point) in galera_notary.values_mut().zip(&notary.points) {
        let states = point.at.last().and_then(|case| case.number);
        *rate *= states.unwrap_or_default();
    }
    let waited_s = |stretch: &Stretch| stretch.latencies.quantile_ms(1.0) / 1_000.0;
    let longest = |case: &str| at(&failover, &[case]).map(|point| median_of(point, waited_s));
    Ok(json!({
        "pg_issue_pay_per_s": pg,
        "embedded_issue_pay_per_s": own,
        "pg_share": pg / own,
        "galera_notary_states_per_s": galera_notary.get(&MILLION.join(" / ")),
        "galera_notary_states_per_s_10m": galera_notary.get(&TEN_MILLION.join(" / ")),
        "galera_notary": galera_notary,
        "failover_s": longest("worker killed")?.max(longest("worker frozen")?),
        "failover": by_point(&failover, waited_s)?,
        "takeover_s": takeover.values().copied().fold(0.0, f64::max),
        "takeover": takeover,
        "load_average": load_average(),
    }))
}

/// Has a bank's process fail as many times in each way as there are windows. Returns the medians.
fn takeovers(times: u32) -> Result<BTreeMap<&'static str, f64>, Failure> {
    let mut medians = BTreeMap::new();
    for (name, fault) in [
        ("process killed", Fault::Killed),
        ("process frozen", Fault::Frozen),
    ] {
        let figures = signals::run(async {
            let mut figures = Vec::new();
            for time in 1..=times {
                let step = Step::begin(&format!("bank: {name}, repeat {time}"));
                let silence_s = takeover::measure(fault).await?;
                step.done(&format!("{silence_s:.2} s without a payment"));
                figures.push(silence_s);
            }
            Ok(figures)
        })?;
        medians.insert(name, median(&figures));
    }
    Ok(medians)
}
