//! `bench production`: nodes on a database server and a replicated notary, against nodes with their own store. A bank's second process takes over first.
//! Then scenarios of the laboratory run, each with its audit, and the figures come from their reports.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use perf::measure::{load_average, median};
use perf::plan::Plan;
use perf::results::{Point, Report, Scenario, Stretch};
use perf::run::Events;
use serde::Serialize;

use super::BenchArgs;
use super::report::line;
use super::takeover::{self, Fault};
use crate::demo::progress::Step;
use crate::demo::signals;
use crate::failure::Failure;
use crate::lab::run as lab;
use crate::lab::scenario::Opening;

/// Outstanding flows of the failover: few enough that a payment takes a small part of a second without a fault.
const FAILOVER_OUTSTANDING: u32 = 100;
/// Minimum length of a window with a fault, in seconds.
const FAULT_SECONDS: u32 = 6;

/// Names of the faults of a bank's process.
const KILLED: &str = "process killed";
const FROZEN: &str = "process frozen";

/// The fields of the benchmark's line of JSON. Rates are medians of windows.
#[derive(Debug, Serialize)]
struct ProductionReport {
    /// Issue + Pay with the data of all nodes on one PostgreSQL server, in flows per second.
    pg_issue_pay_per_s: f64,
    /// The same with embedded stores. Windows of both alternate.
    embedded_issue_pay_per_s: f64,
    /// The first divided by the second.
    pg_share: f64,
    /// States per second that two workers on a Galera cluster of three servers consume, in requests of 100 states, with a million
    /// states consumed before.
    galera_notary_states_per_s: f64,
    /// The same with ten million.
    galera_notary_states_per_s_10m: f64,
    /// Both, by states in a request.
    galera_notary: BTreeMap<String, f64>,
    /// The longest time for which a payment waited while a worker of the notary was killed or frozen, in seconds: the larger of the two
    /// medians.
    failover_s: f64,
    /// Both medians, and that without a fault.
    failover: BTreeMap<String, f64>,
    /// The longest time for which no payment of a bank completed when its process was killed or frozen and a second one took over, in seconds:
    /// the larger of the two medians.
    takeover_s: f64,
    /// Both medians.
    takeover: BTreeMap<String, f64>,
    /// The machine's load average at the end.
    load_average: f64,
}

/// Runs the benchmark and prints the line.
pub fn run(arguments: &BenchArgs) -> Result<(), Failure> {
    let (seconds, windows) = (arguments.window_seconds, arguments.windows);
    let set = |seconds: u32, outstanding: Option<u32>| {
        let mut set = vec![
            format!("run.seconds={seconds}"),
            format!("run.repeats={windows}"),
            "run.warm_up_s=1".to_owned(),
        ];
        set.extend(outstanding.map(|outstanding| format!("load.outstanding={outstanding}")));
        set
    };
    let usual = set(seconds, Some(arguments.outstanding));
    // The scenario's own number fits into the queues of the notary with requests of every size.
    let of_notary = set(seconds, None);
    // A fault needs time before and after it.
    let with_fault = set(seconds.max(FAULT_SECONDS), Some(FAILOVER_OUTSTANDING));
    let open = |name: &str, full: bool, set: &[String]| Opening::sized(full).with(set).open(name);
    let plans = [
        open("database", false, &usual)?,
        // Its published size has one and ten million states.
        open("notary-states", true, &of_notary)?,
        open("failover", false, &with_fault)?,
    ];
    // They take a minute. A failure does not cost the other figures.
    let takeover = takeovers(windows)?;
    let report = run_plans(&plans)?;
    let [database, notary, failover] = &report.scenarios[..] else {
        return Err(interrupted());
    };
    let by_database = medians(database, Stretch::per_s)?;
    let requests = medians(notary, Stretch::per_s)?;
    let galera_notary = notary.points.iter().map(|point| {
        let states = point.at.last().and_then(|case| case.number);
        let name = name_of(point);
        let per_s = requests.get(&name).copied().unwrap_or_default();
        (name, per_s * states.unwrap_or_default())
    });
    let galera_notary: BTreeMap<String, f64> = galera_notary.collect();
    let failover = medians(failover, |stretch| {
        stretch.latencies.quantile_ms(1.0) / 1_000.0
    })?;
    let (pg, own) = (of(&by_database, "postgres")?, of(&by_database, "embedded")?);
    let report = ProductionReport {
        pg_issue_pay_per_s: pg,
        embedded_issue_pay_per_s: own,
        pg_share: pg / own,
        galera_notary_states_per_s: of(&galera_notary, "1000000 / 100")?,
        galera_notary_states_per_s_10m: of(&galera_notary, "10000000 / 100")?,
        galera_notary,
        failover_s: of(&failover, "worker killed")?.max(of(&failover, "worker frozen")?),
        failover,
        takeover_s: of(&takeover, KILLED)?.max(of(&takeover, FROZEN)?),
        takeover,
        load_average: load_average(),
    };
    println!("{}", line(&report).map_err(anyhow::Error::from)?);
    Ok(())
}

/// Has a bank's process fail as many times in each way as there are windows. Returns the medians.
fn takeovers(times: u32) -> Result<BTreeMap<String, f64>, Failure> {
    let mut medians = BTreeMap::new();
    for (name, fault) in [(KILLED, Fault::Killed), (FROZEN, Fault::Frozen)] {
        let mut figures = Vec::new();
        signals::run(async {
            for time in 1..=times {
                let step = Step::begin(&format!("bank: {name}, repeat {time}"));
                let silence_s = takeover::measure(fault).await?;
                step.done(&format!("{silence_s:.2} s without a payment"));
                figures.push(silence_s);
            }
            Ok(())
        })?;
        medians.insert(name.to_owned(), median(&figures));
    }
    Ok(medians)
}

/// Runs the scenarios and draws their progress. Fails if an audit found violations or a scenario did not end.
fn run_plans(plans: &[Plan]) -> Result<Report, Failure> {
    let options = lab::options("bench production".to_owned(), false)?;
    let stop = options.stop.clone();
    let run = async |events: &Events| perf::run::run(plans, &options, events).await;
    let report = lab::to_the_end(&stop, run)?;
    let Some(report) = report.filter(|report| !report.interrupted) else {
        return Err(interrupted());
    };
    lab::verdict(&report)?;
    Ok(report)
}

fn interrupted() -> Failure {
    Failure::local(
        "tally.failed",
        "the benchmark was interrupted",
        "Run it again.",
    )
}

/// Returns the median of a figure over the stretches of each point, by the point's name.
fn medians(scenario: &Scenario, figure: impl Fn(&Stretch) -> f64) -> Result<BTreeMap<String, f64>> {
    let mut medians = BTreeMap::new();
    for point in &scenario.points {
        let name = name_of(point);
        let figures: Vec<f64> = point.stretches.iter().map(&figure).collect();
        if figures.is_empty() {
            bail!("{}: nothing was measured at {name}", scenario.name);
        }
        medians.insert(name, median(&figures));
    }
    Ok(medians)
}

/// Returns a point's place on all axes, as in `1000000 / 100`.
fn name_of(point: &Point) -> String {
    let names: Vec<&str> = point.at.iter().map(|case| case.name.as_str()).collect();
    names.join(" / ")
}

fn of(figures: &BTreeMap<String, f64>, name: &str) -> Result<f64> {
    let found = figures.get(name).copied();
    found.with_context(|| format!("there is no figure for {name}"))
}
