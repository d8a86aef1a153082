//! `bench chain`: payments per second in blocks of one node and of four, disk space per transaction, and the catch-up speed of a
//! new node.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use perf::load::engine::Stop;
use perf::machine::Machine;
use perf::plan::{self, Plan};
use perf::report::number;
use perf::results::Scenario;
use perf::run::{Event, Events, Options};
use serde::Serialize;

use super::BenchArgs;
use super::report::line;
use crate::demo::progress::Step;

/// The shipped scenario whose two points are measured.
const SCENARIO: &str = "chain-rate";

/// The fields of the line.
#[derive(Debug, Serialize)]
struct ChainReport {
    /// Payments per second in blocks of the main chain with four nodes on this machine: the lowest of the nodes.
    chain_4node_tps: f64,
    /// The same with one node.
    chain_1node_tps: f64,
    /// Bytes of a node's files per transaction, after the chain that the new node joins was built.
    chain_bytes_per_tx: f64,
    /// Transactions per second that a new node accepted, from its start until it had the tip.
    chain_sync_tx_per_s: f64,
    /// Transactions of that chain.
    chain_sync_tx: u64,
    /// Payments per second that were signed and written while its history was made.
    chain_history_tps: f64,
    /// Peak resident memory of any node, in megabytes (10^6).
    chain_rss_mb_max: f64,
    /// Median time in seconds from a payment's due time until its block was shown, with four nodes.
    chain_to_block_p50_s: f64,
    /// Maximum number of blocks rolled back, with four nodes.
    chain_fork_depth_max: f64,
    /// The machine's own limits in the same run.
    machine: Machine,
}

/// Runs the benchmark and prints the line.
pub async fn run(arguments: &BenchArgs) -> Result<()> {
    let binary = std::env::current_exe().context("cannot find the executable of this program")?;
    let step = Step::begin("Machine");
    let mut machine = Machine::probe(&std::env::temp_dir())?;
    step.done(&format!(
        "{} cores, {} durable commits/s, load average {}",
        machine.cores,
        number(machine.durable_commits_per_s),
        number(machine.load_before)
    ));
    let plan = opened(arguments.chain_seconds)?;
    let options = Options {
        binary: binary.clone(),
        workloads: crate::workloads(),
        title: plan.title.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        full: false,
        keep: false,
        stop: Stop::default(),
        samples: None,
        agents: None,
    };
    let report = perf::run::run(std::slice::from_ref(&plan), &options, &told()).await;
    let scenario = report.scenarios.first().context("it ran")?;
    if !scenario.is_good() {
        let audits = scenario.points.iter().flat_map(|point| &point.audits);
        let words: Vec<&str> = audits
            .filter(|audit| !audit.clean)
            .map(|audit| audit.words.as_str())
            .collect();
        bail!(
            "{} {}",
            scenario.failure.as_deref().unwrap_or("the audit failed:"),
            words.join("\n")
        );
    }
    let step = Step::begin("New node");
    let chain = plan.points().map_err(anyhow::Error::new)?;
    let chain = chain
        .first()
        .and_then(|point| point.plan.chain.clone())
        .context("a chain")?;
    step.say("a history, then a node that begins with nothing");
    let synced = perf::run::sync(&binary, &chain, arguments.chain_transactions).await;
    let synced = synced.map_err(|error| anyhow::anyhow!("{}: {error}", error.code()))?;
    step.done(&format!(
        "{} transactions in {} blocks: a new node had them after {:.1} s, {}/s",
        number(synced.transactions as f64),
        number(synced.blocks as f64),
        synced.seconds,
        number(synced.per_s)
    ));
    machine.finish();
    let memory = [
        figure(scenario, "1", "rss_mb_max"),
        figure(scenario, "4", "rss_mb_max"),
        synced.rss_mb_max,
    ];
    let report = ChainReport {
        chain_4node_tps: figure(scenario, "4", "chain_tps"),
        chain_1node_tps: figure(scenario, "1", "chain_tps"),
        chain_bytes_per_tx: synced.bytes_per_transaction,
        chain_sync_tx_per_s: synced.per_s,
        chain_sync_tx: synced.transactions,
        chain_history_tps: synced.history_per_s,
        chain_rss_mb_max: memory.into_iter().fold(0.0, f64::max),
        chain_to_block_p50_s: figure(scenario, "4", "to_block_p50_s"),
        chain_fork_depth_max: figure(scenario, "4", "fork_depth_max"),
        machine,
    };
    println!("{}", line(&report)?);
    Ok(())
}

/// Opens the shipped scenario with this duration for each point.
fn opened(seconds: u32) -> Result<Plan> {
    let options = plan::Options {
        full: false,
        set: vec![
            format!("run.seconds={seconds}"),
            "monitors.machine=false".to_owned(),
        ],
    };
    plan::open(SCENARIO, &options, &plan::NoChecks).map_err(anyhow::Error::new)
}

/// Returns a metric of the point with this number of nodes.
fn figure(scenario: &Scenario, nodes: &str, metric: &str) -> f64 {
    let is = |point: &&perf::results::Point| point.at.iter().any(|case| case.name == nodes);
    let point = scenario.points.iter().find(is);
    point
        .and_then(|point| point.summary.metrics.get(metric))
        .map_or(0.0, |estimate| estimate.value)
}

/// Prints events line by line.
fn told() -> Events {
    Arc::new(|event| match event {
        Event::Ended { well, words } if !words.is_empty() => {
            let mark = if well {
                crate::demo::progress::tick()
            } else {
                crate::demo::progress::cross()
            };
            eprintln!("  {mark} {words}");
        }
        Event::Loaded { label, stretch } => eprintln!(
            "  {label}: {} accepted in {:.1} s, {}/s",
            number(stretch.done as f64),
            stretch.seconds,
            number(stretch.per_s())
        ),
        _ => {}
    })
}
