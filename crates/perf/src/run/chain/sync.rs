//! How fast a new node catches up with a chain that others have built: one node's store is given a history, then another node
//! begins with nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::nodes::tally;
use super::settle;
use crate::chain::{ChainStatus, ChainTarget};
use crate::load::Fault;
use crate::measure::{DiskUse, ProcessReading};
use crate::plan::ChainPlan;
use crate::run::error::{RUN_FAILED, RunError};
use crate::run::stretch::seconds;
use crate::topology::{ChainNetwork, HistoryBuilt, NetworkError, Placement};
use crate::workload::Boxed;

/// Interval between two checks of the new node's progress.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// If there is no new block for this long, the new node is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(120);

/// The result of a synchronisation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Synced {
    /// Transactions in the chain that it took over.
    pub transactions: u64,
    /// Blocks of it.
    pub blocks: u64,
    /// Payments a second that were signed, applied and written while the history was made.
    pub history_per_s: f64,
    /// Seconds from the new node's start until it had the tip.
    pub seconds: f64,
    /// Transactions a second meanwhile.
    pub per_s: f64,
    /// Bytes of files for each transaction, of the node that built the chain.
    pub bytes_per_transaction: f64,
    /// Peak resident memory of the larger of the two, megabytes (10^6).
    pub rss_mb_max: f64,
}

/// Gives one node a history of `transactions` payments, then measures how fast another one catches up. `plan` describes
/// the chain. It has two nodes, and all its accounts are on the first.
///
/// # Errors
/// Fails if nodes do not start, or with their errors.
pub fn sync<'a>(
    binary: &'a Path,
    plan: &'a ChainPlan,
    transactions: u64,
) -> Boxed<'a, Result<Synced, RunError>> {
    // Compiled here, and not in each crate that awaits it.
    Box::pin(sync_here(binary, plan, transactions))
}

async fn sync_here(binary: &Path, plan: &ChainPlan, transactions: u64) -> Result<Synced, RunError> {
    let mut plan = plan.clone();
    plan.nodes = 2;
    plan.history = transactions;
    for account in &mut plan.accounts {
        account.node = 1;
    }
    let (binary, made): (PathBuf, ChainPlan) = (binary.to_owned(), plan.clone());
    let step = tokio::task::spawn_blocking(move || {
        let mut network = ChainNetwork::make(&binary, &made, &Placement::default())?;
        let built = network.make_history(&made, &[0])?;
        network.start(&[0])?;
        Ok::<(ChainNetwork, HistoryBuilt), NetworkError>((network, built))
    });
    let (mut network, built) = step.await??;
    let first = tally(&plan, network.endpoint(0).as_slice(), true).await?;
    // The chain stands still while the other node catches up.
    settle::one_tip(&first, seconds(plan.drain_s))
        .await
        .map_err(RunError::of("stopping to forge"))?;
    let tip = status(&first).await?;
    let size = DiskUse::of(&network.data(0));
    let size = size.map_err(|error| failed("the size of its files", error.to_string()))?;
    let started = Instant::now();
    let step = tokio::task::spawn_blocking(move || {
        network.start(&[1])?;
        Ok::<ChainNetwork, NetworkError>(network)
    });
    network = step.await??;
    let second = tally(&plan, network.endpoint(1).as_slice(), true).await?;
    caught_up(&second, &tip).await?;
    let took = started.elapsed().as_secs_f64();
    let peaks = (0..2).filter_map(|at| ProcessReading::of(network.pid(at)?).ok());
    let peak = peaks.map(|reading| reading.rss_peak_bytes).max();
    let peak = peak.ok_or_else(|| failed("the memory", "no process is left"))?;
    let _ = tokio::task::spawn_blocking(move || drop(network)).await;
    Ok(Synced {
        transactions: built.transactions,
        blocks: tip.height,
        history_per_s: built.transactions as f64 / built.seconds.max(f64::MIN_POSITIVE),
        seconds: took,
        per_s: built.transactions as f64 / took.max(f64::MIN_POSITIVE),
        bytes_per_transaction: size.live_bytes as f64 / built.transactions.max(1) as f64,
        rss_mb_max: peak as f64 / 1e6,
    })
}

/// Waits until the new node has the tip.
async fn caught_up(targets: &[Arc<dyn ChainTarget>], tip: &ChainStatus) -> Result<(), RunError> {
    let (mut height, mut since) = (0, Instant::now());
    loop {
        let now = status(targets).await?;
        if now.tip == tip.tip {
            return Ok(());
        }
        if now.height > height {
            (height, since) = (now.height, Instant::now());
        }
        if since.elapsed() > STUCK_AFTER {
            let message = format!("the new node stays at height {height} of {}", tip.height);
            return Err(failed("catching up", message));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn status(targets: &[Arc<dyn ChainTarget>]) -> Result<ChainStatus, RunError> {
    let target = targets
        .first()
        .ok_or_else(|| failed("a node", "there is none"))?;
    let status = target.status().await;
    status.map_err(RunError::of("its status"))
}

fn failed(what: &'static str, message: impl Into<String>) -> RunError {
    RunError::of(what)(Fault::new(RUN_FAILED, message))
}
