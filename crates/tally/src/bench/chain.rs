//! `bench chain`: payments per second in blocks of one node and of four, disk space per transaction, and the catch-up speed of a
//! new node.

use anyhow::{Context, Result};
use perf::plan::ChainPlan;
use perf::report::number;
use perf::run::Synced;
use serde_json::{Value, json};

use super::BenchArgs;
use super::parts::{Part, at, machine, metric, rss_mb_max, run as run_all};
use crate::demo::progress::Step;
use crate::demo::signals;
use crate::failure::Failure;

/// The shipped scenario whose two points are measured.
const SCENARIO: &str = "chain-rate";

/// Returns the scenario.
pub(super) fn parts(arguments: &BenchArgs) -> [Part; 1] {
    let seconds = format!("run.seconds={}", arguments.chain_seconds);
    [Part::of(SCENARIO).with([seconds])]
}

/// Runs the benchmark. Returns its line.
pub(super) fn run(arguments: &BenchArgs) -> Result<Value, Failure> {
    let parts = parts(arguments);
    let chain = parts[0].open()?.chain;
    let (report, [rate]) = run_all("chain", parts)?;
    let (one, four) = (at(&rate, &["1"])?, at(&rate, &["4"])?);
    let synced = synced(chain, arguments.chain_transactions)?;
    Ok(json!({
        "chain_4node_tps": metric(four, "chain_tps")?,
        "chain_1node_tps": metric(one, "chain_tps")?,
        "chain_bytes_per_tx": synced.bytes_per_transaction,
        "chain_sync_tx_per_s": synced.per_s,
        "chain_sync_tx": synced.transactions,
        "chain_history_tps": synced.history_per_s,
        "chain_rss_mb_max": rss_mb_max([&rate]).max(synced.rss_mb_max),
        "chain_to_block_p50_s": metric(four, "to_block_p50_s").ok(),
        "chain_fork_depth_max": metric(four, "fork_depth_max")?,
        "machine": machine(&report.machine),
    }))
}

/// Makes a history, and has a node catch up that begins with nothing.
fn synced(chain: Option<ChainPlan>, transactions: u64) -> Result<Synced> {
    let chain = chain.context("the scenario has a chain")?;
    signals::run(async {
        let step = Step::begin("New node");
        step.say("a history, then a node that begins with nothing");
        let binary = std::env::current_exe().context("where this program is")?;
        let synced = perf::run::sync(&binary, &chain, transactions).await;
        let synced = synced.map_err(|error| anyhow::anyhow!("{}: {error}", error.code()))?;
        step.done(&format!(
            "{} transactions in {} blocks: a new node had them after {:.1} s, {}/s",
            number(synced.transactions as f64),
            number(synced.blocks as f64),
            synced.seconds,
            number(synced.per_s)
        ));
        Ok(synced)
    })
}
