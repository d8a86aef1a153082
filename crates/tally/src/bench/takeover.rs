//! The time for which a bank's clients wait when its process fails and a second one takes over: payments under client ids, each asked for until it
//! is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use api::{FlowStatus, StartFlow, Wait};
use client::{Client, ClientError, Stream};
use perf::topology::{Network, NetworkOptions, Signal, Who, signal};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// The bank with two processes.
const PAYER: Who = Who::Bank(0);
/// The bank that it pays.
const PAYEE: Who = Who::Bank(1);
/// Payments outstanding.
const OUTSTANDING: usize = 16;
/// Payments before and after the fault.
const PAYMENTS: u64 = 200;
/// Time limit for each step.
const STEP_MAX: Duration = Duration::from_secs(60);
/// Pause before a payment is asked for again.
const REST: Duration = Duration::from_millis(20);
/// Pause between two looks at a condition.
const POLL: Duration = Duration::from_millis(5);

/// A fault of the first process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is killed.
    Killed,
    /// It stops without a word.
    Frozen,
}

/// The payments of one network.
struct Load {
    stream: Stream,
    payee: String,
    next: AtomicU64,
    /// The times at which payments completed.
    completed: Mutex<Vec<Instant>>,
    stop: AtomicBool,
}

/// Brings up a network, has the bank's process fail under load, and returns the longest time without a completed payment, in seconds. Fails if
/// a payment is lost or carried out twice.
pub(super) async fn measure(fault: Fault) -> Result<f64> {
    let binary = std::env::current_exe().context("cannot find the executable of this program")?;
    let options = NetworkOptions {
        database: true,
        standby: true,
        ..NetworkOptions::two_banks(binary)
    };
    let mut network = tokio::task::spawn_blocking(move || Network::bring_up(&options)).await??;
    start_standby(&mut network).await?;
    let client = Client::new(network.endpoint(PAYER)?)?;
    let load = Arc::new(Load {
        stream: client.stream(),
        payee: network.name(PAYEE).to_owned(),
        next: AtomicU64::new(0),
        completed: Mutex::default(),
        stop: AtomicBool::new(false),
    });
    let payers: Vec<JoinHandle<Result<()>>> = (0..OUTSTANDING)
        .map(|_| tokio::spawn(Arc::clone(&load).pay()))
        .collect();
    load.completes(PAYMENTS, &payers).await?;
    let failed = Instant::now();
    match (fault, network.pid(PAYER)) {
        (Fault::Killed, _) => network.kill(PAYER),
        (Fault::Frozen, Some(pid)) => signal(pid, Signal::STOP),
        (Fault::Frozen, None) => bail!("the bank's process has ended"),
    }
    until("the second process takes over", async || {
        network.standby().is_some_and(|standby| standby.is_ready())
    })
    .await?;
    load.completes(PAYMENTS, &payers).await?;
    load.stop.store(true, Ordering::Relaxed);
    for payer in payers {
        payer.await??;
    }
    let completed = load.completed.lock().await;
    let silence = longest_silence(&completed, failed);
    let payee = Client::new(network.endpoint(PAYEE)?)?;
    check_books(&client, &payee, completed.len() as u64).await?;
    Ok(silence.as_secs_f64())
}

/// Checks that each completed payment took place once: no flow runs any more, the payer has kept nothing, and the payee holds as many units
/// as were paid.
async fn check_books(payer: &Client, payee: &Client, paid: u64) -> Result<()> {
    until("no flow runs", async || {
        let running = payer.flows(None, 1).await;
        running.is_ok_and(|list| list.flows.is_empty())
    })
    .await?;
    // The view of a vault may lag behind its ledger.
    until("the payee shows the payments", async || {
        held(payee).await.is_ok_and(|held| held >= paid)
    })
    .await?;
    let (kept, got) = (held(payer).await?, held(payee).await?);
    if (kept, got) != (0, paid) {
        bail!("{paid} payments of one unit completed, the payee holds {got} and the payer {kept}");
    }
    Ok(())
}

/// Returns the number of units that a bank holds.
async fn held(bank: &Client) -> Result<u64> {
    let mut held = 0;
    for balance in bank.balances().await?.balances {
        held += balance.quantity.parse::<u64>()?;
    }
    Ok(held)
}

/// Starts the second process, and waits until it waits for the lease.
async fn start_standby(network: &mut Network) -> Result<()> {
    let standby = network.standby().context("the network has no standby")?;
    standby.process().start()?;
    until("the second process waits", async || standby.has_waited()).await
}

/// Returns the longest time without a completed payment that ended after the fault.
fn longest_silence(completed: &[Instant], failed: Instant) -> Duration {
    let mut times = completed.to_vec();
    times.sort_unstable();
    let pairs = times.windows(2).filter(|pair| pair[1] >= failed);
    let silences = pairs.map(|pair| pair[1].duration_since(pair[0].max(failed)));
    silences.max().unwrap_or_default()
}

impl Load {
    /// Makes payments one after another until told to stop.
    async fn pay(self: Arc<Self>) -> Result<()> {
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let arguments = json!({ "currency": "GBP", "quantity": 1, "recipient": self.payee });
            let start = StartFlow::new("cash.issue_and_pay", &arguments)?;
            let start = start.wait(Wait::Delivered);
            self.until_delivered(&start.client_id(format!("payment-{number}")))
                .await?;
            self.completed.lock().await.push(Instant::now());
        }
        Ok(())
    }

    /// Repeats a start under its client id until the payment is delivered. Whether a process has carried it out is unknown after it failed.
    async fn until_delivered(&self, start: &StartFlow) -> Result<()> {
        let end = Instant::now() + STEP_MAX;
        loop {
            let answer = self.stream.start(start).await;
            let error = match answer.or_else(ClientError::into_outcome) {
                Ok(outcome) if outcome.status == FlowStatus::Delivered => return Ok(()),
                Ok(outcome) if outcome.status.is_end() && outcome.error.is_some() => {
                    bail!("a payment failed: {outcome:?}")
                }
                Ok(_) => None,
                Err(error) => Some(error),
            };
            if Instant::now() >= end {
                bail!("a payment was not answered: {error:?}");
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// Waits until so many more payments have completed, or until one of the payers fails, which its end reports.
    async fn completes(&self, payments: u64, payers: &[JoinHandle<Result<()>>]) -> Result<()> {
        let wanted = self.completed.lock().await.len() as u64 + payments;
        until("payments complete", async || {
            self.completed.lock().await.len() as u64 >= wanted
                || payers.iter().any(JoinHandle::is_finished)
        })
        .await
    }
}

/// Waits for a condition, up to the time limit.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Result<()> {
    let end = Instant::now() + STEP_MAX;
    while !holds().await {
        if Instant::now() >= end {
            bail!("waited in vain: {what}");
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}
