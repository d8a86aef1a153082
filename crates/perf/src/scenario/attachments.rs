//! Many large files at once together with small payments: the time for the files, and whether the payments still get
//! through.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::Client;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::audit::Verdict;
use crate::plan::Work;
use crate::topology::{Network, NetworkError, Who};
use crate::workload::{Failed, Mix, Site, SiteNode, Workloads};

/// Upper limit on outstanding payments. A payment that is due above it is skipped and counted.
const PAYMENTS_MAX: usize = 1_000;
/// Transactions that the audit reads in full.
const READ_MAX: u32 = 20_000;

/// The load of the scenario.
#[derive(Clone, Copy, Debug)]
pub struct LargeFiles {
    /// Files, all at once.
    pub files: u32,
    /// Bytes of each.
    pub size: u64,
    /// Payments due a second at the same time.
    pub payments_per_s: u32,
}

/// The result of the scenario.
#[derive(Clone, Debug)]
pub struct LargeFilesSent {
    /// From the first start until the last file was at its receiver.
    pub seconds: f64,
    /// Peak resident memory of the largest process, in megabytes (10^6).
    pub rss_mb_max: f64,
    /// Payments delivered meanwhile.
    pub payments: usize,
    /// Payments that failed, or were due above the limit of outstanding ones.
    pub payments_failed: usize,
    /// Time from a payment's due time to its delivery, the 99th percentile, milliseconds.
    pub payment_p99_ms: f64,
    /// The median.
    pub payment_p50_ms: f64,
    /// The audit's verdict on files, transactions and money.
    pub verdict: Verdict,
}

/// Uploads the files to the first bank, drops them from its page cache, and shares them all at once with the second,
/// while payments run. Fails if any file does not arrive.
pub async fn send_large_files(
    network: &Network,
    asked: LargeFiles,
    seed: u64,
) -> Result<LargeFilesSent, Failed> {
    let site = Arc::new(site(network, seed).map_err(|error| failed(&error))?);
    let workloads = Workloads::shipped();
    let files = work(
        "transfer-attachment",
        &[("size", whole(asked.size)), ("temperature", "cold".into())],
    );
    let payments = work("pay", &[("coins", whole(PAYMENTS_MAX as u64))]);
    let mix = |work| Mix::new(&workloads, &[work], seed).map_err(|error| failed(&error));
    let (files, payments) = (Arc::new(mix(files)?), Arc::new(mix(payments)?));
    payments.prepare(&site, 0).await?;
    files.prepare(&site, u64::from(asked.files)).await?;
    payments.set_up(&site, 1).await?;
    files.set_up(&site, asked.files).await?;
    let ended = Arc::new(AtomicBool::new(false));
    let beside = tokio::spawn(pay(
        Arc::clone(&payments),
        asked.payments_per_s,
        Arc::clone(&ended),
    ));
    let begun = Instant::now();
    let sent = send(&files, asked.files).await;
    let seconds = begun.elapsed().as_secs_f64();
    ended.store(true, Ordering::Relaxed);
    let paid = beside.await.map_err(|error| failed(&error))?;
    // Both are torn down. The files' own failure has precedence.
    let torn = files.tear_down().await.and(payments.tear_down().await);
    sent.and(torn)?;
    site.caught_up().await?;
    Ok(LargeFilesSent {
        seconds,
        rss_mb_max: network.rss_mb_max(),
        payments: paid.latencies_ms.len(),
        payments_failed: paid.failed,
        payment_p99_ms: quantile(&paid.latencies_ms, 0.99),
        payment_p50_ms: quantile(&paid.latencies_ms, 0.5),
        verdict: site.audit(READ_MAX).await?,
    })
}

fn work(kind: &str, knobs: &[(&str, toml::Value)]) -> Work {
    let knobs = knobs.iter().cloned();
    Work {
        kind: kind.to_owned(),
        label: kind.to_owned(),
        weight: 1,
        knobs: knobs
            .map(|(knob, value)| (knob.to_owned(), value))
            .collect(),
    }
}

fn whole(number: u64) -> toml::Value {
    i64::try_from(number)
        .expect("sizes and counts far below the largest number")
        .into()
}

fn failed(error: &dyn std::fmt::Display) -> Failed {
    Failed::new("lab.run_failed", error.to_string())
}

fn site(network: &Network, seed: u64) -> Result<Site, NetworkError> {
    let node = |who| {
        let endpoint = network.endpoint(who)?;
        let node = SiteNode::new(network.name(who), Client::new(endpoint.clone())?);
        Ok::<SiteNode, NetworkError>(node.with_endpoint(endpoint).with_data(network.data(who)))
    };
    let banks: Result<Vec<SiteNode>, NetworkError> = (0..network.banks())
        .map(|bank| node(Who::Bank(bank)))
        .collect();
    Ok(Site::new(banks?, Some(node(Who::Notary)?), seed))
}

/// Sends every file at once. Returns the first failure.
async fn send(files: &Arc<Mix>, count: u32) -> Result<(), Failed> {
    let mut running = JoinSet::new();
    for number in 0..count {
        let files = Arc::clone(files);
        running.spawn(async move { files.invoke(number, u64::from(number)).await.1 });
    }
    let mut first = Ok(());
    while let Some(ended) = running.join_next().await {
        let ended = ended.map_err(|error| failed(&error))?;
        first = first.and(ended.map(|_| ()));
    }
    first
}

/// The latencies and failures of payments.
#[derive(Default)]
struct Paid {
    latencies_ms: Vec<f64>,
    failed: usize,
}

/// Makes payments at a rate until told to end, then waits for the outstanding ones.
async fn pay(payments: Arc<Mix>, per_s: u32, ended: Arc<AtomicBool>) -> Paid {
    let mut paid = Paid::default();
    let mut running: JoinSet<Result<f64, Failed>> = JoinSet::new();
    let mut ticks = interval(Duration::from_secs(1) / per_s.max(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut number = 0;
    while !ended.load(Ordering::Relaxed) {
        // Latency counts from the due time, even if this task ran late.
        let due = ticks.tick().await;
        while let Some(one) = running.try_join_next() {
            paid.note(one.map_err(|error| failed(&error)).flatten());
        }
        if running.len() >= PAYMENTS_MAX {
            paid.failed += 1;
            continue;
        }
        let payments = Arc::clone(&payments);
        number += 1;
        running.spawn(async move {
            payments.invoke(0, number).await.1?;
            Ok(due.elapsed().as_secs_f64() * 1e3)
        });
    }
    while let Some(one) = running.join_next().await {
        paid.note(one.map_err(|error| failed(&error)).flatten());
    }
    paid.latencies_ms.sort_by(f64::total_cmp);
    paid
}

impl Paid {
    fn note(&mut self, one: Result<f64, Failed>) {
        match one {
            Ok(latency_ms) => self.latencies_ms.push(latency_ms),
            Err(_) => self.failed += 1,
        }
    }
}

/// Returns the quantile of sorted values; 0 if there are none.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    // The share 0 means the first value.
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_few() {
        let values = [1.0, 2.0, 3.0, 4.0];
        for (share, expected) in [(0.0, 1.0), (0.5, 2.0), (0.51, 3.0), (0.99, 4.0), (1.0, 4.0)] {
            assert_eq!(quantile(&values, share), expected, "{share}");
        }
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[tokio::test]
    async fn payments_go_on_until_the_files_are_there() {
        let quick = work("fake", &[("latency_ms", 1.into())]);
        let mix = Mix::new(&Workloads::shipped(), &[quick], 1).expect("a mix");
        let mix = Arc::new(mix);
        let site = Arc::new(Site::new(Vec::new(), None, 1));
        mix.set_up(&site, 1).await.expect("set up");
        let ended = Arc::new(AtomicBool::new(false));
        let paying = tokio::spawn(pay(Arc::clone(&mix), 500, Arc::clone(&ended)));
        send(&mix, 20).await.expect("all arrive");
        ended.store(true, Ordering::Relaxed);
        let paid = paying.await.expect("no panic");
        assert!(!paid.latencies_ms.is_empty() && paid.failed == 0);
        assert!(paid.latencies_ms.is_sorted());
    }
}
