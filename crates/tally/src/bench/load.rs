//! `bench load`: a node with many connections and followers at once, and under ten times its capacity.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use perf::load::{Arrivals, Arrived, Followers, Live, Load};
use perf::measure::{load_average, median};
use perf::report::number;
use perf::scenario::{CashLab, CashWork};
use perf::topology::{Network, NetworkOptions, Who};
use serde::Serialize;

use super::BenchArgs;
use super::report::line;
use crate::demo::progress::{LoadBar, Step};

/// The node under load.
const ASKED: Who = Who::Bank(0);
/// Maximum number of outstanding units of an overload at the generator. It is far above a node's limits, so that the node refuses
/// first.
const OFFERED_OUTSTANDING_MAX: usize = 50_000;
/// Clients that the offered flows come from in turn.
const ARRIVING_CLIENTS: u32 = 16;
/// Interval of the memory readings.
const MEMORY_EVERY: Duration = Duration::from_millis(500);

/// The fields of the benchmark's line of JSON. Memory is the resident memory of the node under load, in megabytes (10^6).
#[derive(Debug, Serialize)]
struct LoadReport {
    /// Keep-alive connections, each starting one flow after another by single requests.
    connections: u32,
    /// Followers of the vault's changes in half of the windows.
    followers: u32,
    /// Issues per second without followers: the median window.
    alone_per_s: f64,
    /// Issues per second with followers.
    followed_per_s: f64,
    /// The rate with followers divided by the rate without. The windows alternate, so that variations of the machine affect both.
    followed_share: f64,
    /// Events per second that all followers together read.
    follower_events_per_s: f64,
    /// Followers that were disconnected because they did not keep up.
    followers_cut: u64,
    /// Memory with all connections and followers open.
    connections_rss_mb: f64,
    /// The overload.
    overload: Overload,
    /// Peak resident memory of the largest process.
    rss_mb_max: f64,
    /// The machine's load average at the end.
    load_average: f64,
}

/// Issues and payments at a multiple of the rate that a closed loop had reached.
#[derive(Debug, Serialize)]
struct Overload {
    /// Flows a second in a closed loop before it.
    capacity_per_s: f64,
    /// Offered flows per second.
    offered_per_s: f64,
    /// Length of the overload in seconds.
    seconds: f64,
    /// Due flows, started or not.
    due: u64,
    /// Flows that the generator never started, because too many were outstanding.
    dropped: u64,
    /// Maximum delay of the generator's starts, in milliseconds.
    generator_behind_ms_max: f64,
    /// Flows accepted and delivered.
    accepted: u64,
    /// Accepted and delivered flows per second.
    accepted_per_s: f64,
    /// Refusals by code.
    refused: BTreeMap<String, u64>,
    /// Median time from the due time of an accepted flow to its delivery, in milliseconds.
    accepted_p50_ms: f64,
    /// The 99th percentile of this time.
    accepted_p99_ms: f64,
    /// Memory before the overload, and its peak in each quarter of the overload.
    rss_mb: Vec<f64>,
}

/// Runs the benchmark and prints the line.
pub async fn run(arguments: &BenchArgs) -> Result<()> {
    let binary = std::env::current_exe().context("cannot find the executable of this program")?;
    let mut options = NetworkOptions::two_banks(binary);
    // All followers, all connections of requests, and the laboratory's own connections.
    let connections = arguments.connections + arguments.followers + 64;
    let setting = |name: &str, value: u32| format!("api.{name} = {value}");
    options.settings = vec![setting("connections_max", connections)];
    let step = Step::begin("Network");
    let network = tokio::task::spawn_blocking(move || Network::bring_up(&options)).await??;
    step.done(&network.root().display().to_string());
    let mut bench = Bench {
        lab: CashLab::new(network)?,
        arguments,
    };

    let windows = bench.followed().await?;
    let overload = bench.overload().await?;

    let step = Step::begin("Audit");
    let verdict = bench.lab.audit().await?;
    if !verdict.is_clean() || bench.lab.unknown() > 0 {
        step.failed(&verdict.to_string());
        bail!(
            "the audit failed: it found violations, or flows without a known outcome ({})",
            bench.lab.unknown()
        );
    }
    step.done(&verdict.to_string());
    let (alone, followed) = (median(&windows.alone), median(&windows.followed));
    let report = LoadReport {
        connections: arguments.connections,
        followers: arguments.followers,
        alone_per_s: alone,
        followed_per_s: followed,
        followed_share: followed / alone,
        follower_events_per_s: windows.events_per_s,
        followers_cut: windows.cut,
        connections_rss_mb: windows.rss_mb,
        overload,
        rss_mb_max: bench.lab.network.rss_mb_max(),
        load_average: load_average(),
    };
    println!("{}", line(&report)?);
    Ok(())
}

struct Bench<'a> {
    lab: CashLab,
    arguments: &'a BenchArgs,
}

struct Windows {
    alone: Vec<f64>,
    followed: Vec<f64>,
    events_per_s: f64,
    cut: u64,
    rss_mb: f64,
}

impl Bench<'_> {
    fn load(&self, outstanding: u32) -> Load {
        Load {
            outstanding: outstanding as usize,
            duration: Duration::from_secs(u64::from(self.arguments.window_seconds)),
            most: u64::MAX,
        }
    }

    /// Measures alternating windows without and with followers, after a warm-up.
    async fn followed(&mut self) -> Result<Windows> {
        let load = self.load(self.arguments.connections);
        let live = Arc::new(Live::default());
        let windows = self.arguments.windows;
        let bar = LoadBar::begin(
            "Connections",
            load.duration * (2 * windows + 1),
            Arc::clone(&live),
        );
        let mut found = Windows {
            alone: Vec::new(),
            followed: Vec::new(),
            events_per_s: 0.0,
            cut: 0,
            rss_mb: 0.0,
        };
        self.issues(load, &live).await?;
        let (mut events, mut seconds) = (0u64, 0.0f64);
        for _ in 0..windows {
            found.alone.push(self.issues(load, &live).await?);
            let endpoint = self.lab.network.endpoint(ASKED)?;
            let followers = Followers::begin(&endpoint, self.arguments.followers as usize).await?;
            let begun = std::time::Instant::now();
            found.followed.push(self.issues(load, &live).await?);
            events += followers.events();
            seconds += begun.elapsed().as_secs_f64();
            found.cut += followers.cut();
            found.rss_mb = found.rss_mb.max(self.rss_mb());
        }
        found.events_per_s = events as f64 / seconds.max(0.001);
        bar.end().await;
        eprintln!(
            "  {} connections: {} /s alone, {} /s beside {} followers ({} events/s, {} cut off)",
            self.arguments.connections,
            number(median(&found.alone)),
            number(median(&found.followed)),
            self.arguments.followers,
            number(found.events_per_s),
            found.cut,
        );
        Ok(found)
    }

    async fn issues(&mut self, load: Load, live: &Arc<Live>) -> Result<f64> {
        let connections = self.arguments.connections as usize;
        let live = Arc::clone(live);
        let window = self
            .lab
            .issue_by_requests("GBP", 100, connections, load, live)
            .await?;
        if window.done.is_empty() {
            bail!("nothing was delivered: {:?}", window.faults);
        }
        Ok(window.per_s())
    }

    /// Offers more load than the node can handle, for minutes.
    async fn overload(&mut self) -> Result<Overload> {
        let load = self.load(self.arguments.outstanding);
        let mut capacity = Vec::new();
        for _ in 0..3 {
            let live = Arc::default();
            let work = CashWork::IssueAndPay;
            let window = self.lab.run(work, "EUR", 100, load, live).await?;
            capacity.push(window.per_s());
        }
        let capacity = median(&capacity);
        let duration = Duration::from_secs(u64::from(self.arguments.overload_seconds));
        let rate = Arrivals {
            per_s: capacity * f64::from(self.arguments.overload),
            duration,
            outstanding_max: OFFERED_OUTSTANDING_MAX,
        };
        let live = Arc::new(Live::default());
        let bar = LoadBar::begin("Overload", duration, Arc::clone(&live));
        let before = self.rss_mb();
        let pid = self.lab.network.pid(ASKED);
        let pid = pid.context("the node under load does not run")?;
        let watched = tokio::spawn(watch_memory(pid, duration / 4));
        let starts = (rate, ARRIVING_CLIENTS);
        let work = CashWork::IssueAndPay;
        let arrived = self.lab.run_at(work, "EUR", 100, starts, live).await?;
        bar.end().await;
        let mut rss_mb = vec![before];
        rss_mb.extend(watched.await?);
        let overload = Overload::new(capacity, rate, &arrived, rss_mb);
        eprintln!(
            "  {} /s offered for {} s, {} /s accepted (p50 {} ms, p99 {} ms); refused {:?}; memory {:?} MB",
            number(overload.offered_per_s),
            number(overload.seconds),
            number(overload.accepted_per_s),
            number(overload.accepted_p50_ms),
            number(overload.accepted_p99_ms),
            overload.refused,
            overload.rss_mb,
        );
        Ok(overload)
    }

    fn rss_mb(&self) -> f64 {
        let readings = self.lab.network.readings().into_iter();
        let asked = readings.filter(|(who, _)| *who == ASKED);
        asked
            .map(|(_, reading)| reading.rss_bytes as f64 / 1e6)
            .sum()
    }
}

impl Overload {
    fn new(capacity: f64, rate: Arrivals, arrived: &Arrived, rss_mb: Vec<f64>) -> Self {
        let accepted = arrived.latencies.count();
        let refused = arrived.faults.iter();
        Self {
            capacity_per_s: capacity,
            offered_per_s: rate.per_s,
            seconds: rate.duration.as_secs_f64(),
            due: arrived.due,
            dropped: arrived.dropped,
            generator_behind_ms_max: arrived.behind_max.as_secs_f64() * 1e3,
            accepted,
            accepted_per_s: accepted as f64 / arrived.elapsed.as_secs_f64(),
            refused: refused
                .map(|(code, (count, _))| (code.clone(), *count))
                .collect(),
            accepted_p50_ms: arrived.latencies.p50_ms(),
            accepted_p99_ms: arrived.latencies.p99_ms(),
            rss_mb,
        }
    }
}

/// Returns the peak resident memory in each of four stretches of time, in megabytes.
async fn watch_memory(pid: u32, stretch: Duration) -> Vec<f64> {
    let mut peaks = Vec::new();
    for _ in 0..4 {
        let end = tokio::time::Instant::now() + stretch;
        let mut peak = 0u64;
        while tokio::time::Instant::now() < end {
            if let Ok(reading) = perf::measure::ProcessReading::of(pid) {
                peak = peak.max(reading.rss_bytes);
            }
            tokio::time::sleep(MEMORY_EVERY).await;
        }
        peaks.push(peak as f64 / 1e6);
    }
    peaks
}
