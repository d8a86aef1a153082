//! `bench ledger`: issue and pay between two nodes and a notary, with the load on the same machine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use perf::load::{Arrivals, Live, Load};
use perf::machine::{Machine, SignatureRates};
use perf::measure::median;
use perf::report::number;
use perf::scenario::{CashLab, CashWork};
use perf::topology::{Network, NetworkOptions};

use super::BenchArgs;
use super::costs::{CostReading, Costs};
use super::report::{Latency, LedgerReport, line};
use crate::demo::progress::{LoadBar, Step};

/// Number of coins at the start of Repeated Pay.
const COINS: u64 = 1_000;
/// Minor units in each coin.
const COIN: u64 = 1_000_000_000;
/// Minor units of a payment. A payment in 160 states can split this many units.
const PAYMENT: u64 = 1_600;
/// The measured numbers of states per transaction.
const STATES: [u32; 5] = [1, 5, 20, 40, 160];
/// Consecutive flows for the latency of each kind.
const LATENCY_FLOWS: u64 = 500;
/// Maximum time for the latency of each kind.
const LATENCY_MAX: Duration = Duration::from_secs(15);
/// The low rate at which the cost of a payment is measured, per second.
const LOW_RATE_PER_S: f64 = 300.0;
/// Time at the low rate before the measurement.
const LOW_RATE_WARM_UP: Duration = Duration::from_secs(2);
/// Time of the measurement at the low rate.
const LOW_RATE_TIME: Duration = Duration::from_secs(8);
/// Duration of each signature operation measured with many signers.
const SIGNERS_SLICE: Duration = Duration::from_millis(500);

/// Runs the benchmark and prints the line.
pub async fn run(arguments: &BenchArgs) -> Result<()> {
    let binary = std::env::current_exe().context("cannot find the executable of this program")?;
    let step = Step::begin("Network");
    let network =
        tokio::task::spawn_blocking(move || Network::bring_up(&NetworkOptions::two_banks(binary)))
            .await??;
    step.done(&network.root().display().to_string());

    let step = Step::begin("Machine");
    let mut machine = Machine::probe(network.root())?;
    let distinct_signers_10000 = SignatureRates::measure(10_000, SIGNERS_SLICE);
    step.done(&format!(
        "{} cores, {} durable commits/s",
        machine.cores,
        number(machine.durable_commits_per_s)
    ));

    let mut bench = Bench {
        lab: CashLab::new(network)?,
        arguments,
    };
    let latency_ms = bench.latency().await?;
    let issue = bench.rate("Issue", CashWork::Issue, "GBP", 100).await?;
    let issue_pay = bench
        .rate("Issue + Pay", CashWork::IssueAndPay, "EUR", 100)
        .await?;
    bench.lab.fund("CHF", COINS, COIN).await?;
    let mut pays = BTreeMap::new();
    for states in STATES {
        let name = format!("Repeated Pay, {states} states");
        let rate = bench
            .rate(&name, CashWork::Pay { states }, "CHF", PAYMENT)
            .await?;
        pays.insert(states, rate);
    }
    let at_300 = bench.costs_at(LOW_RATE_PER_S).await?;
    bench.lab.fund("SEK", 1, COIN * COINS).await?;
    let one_coin = bench
        .rate(
            "Repeated Pay, one coin",
            CashWork::Pay { states: 1 },
            "SEK",
            PAYMENT,
        )
        .await?;

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
    let rss_mb_max = bench.lab.network.rss_mb_max();
    let startup_ms = bench.startup_ms().await?;
    machine.finish();
    let pay = &pays[&1];
    let report = LedgerReport {
        issue_per_s: issue.per_s,
        issue_pay_per_s: issue_pay.per_s,
        repeated_pay_per_s: pay.per_s,
        repeated_pay_coins: COINS,
        repeated_pay_one_coin_per_s: one_coin.per_s,
        serial_us_issue: issue.costs.serial.us_per_unit,
        serial_us_issue_pay: issue_pay.costs.serial.us_per_unit,
        cpu_us_issue: issue.costs.cpu_us,
        cpu_us_issue_pay: issue_pay.costs.cpu_us,
        cpu_us_pay_at_300: at_300.cpu_us,
        repeated_pay_states_per_s: pays
            .iter()
            .map(|(states, rate)| (*states, rate.per_s * f64::from(*states)))
            .collect(),
        latency_ms,
        storage_bytes_per_issue: issue.bytes_per_flow,
        storage_bytes_per_pay: pay.bytes_per_flow,
        rss_mb_max,
        startup_ms,
        distinct_signers_10000,
        machine,
    };
    println!("{}", line(&report)?);
    Ok(())
}

struct Rate {
    per_s: f64,
    bytes_per_flow: f64,
    costs: Costs,
}

struct Bench<'a> {
    lab: CashLab,
    arguments: &'a BenchArgs,
}

impl Bench<'_> {
    /// Measures windows after a warm-up, and returns the median.
    async fn rate(
        &mut self,
        name: &str,
        work: CashWork,
        currency: &str,
        quantity: u64,
    ) -> Result<Rate> {
        let load = Load {
            outstanding: self.arguments.outstanding as usize,
            duration: Duration::from_secs(u64::from(self.arguments.window_seconds)),
            most: u64::MAX,
        };
        let live = Arc::new(Live::default());
        let windows = self.arguments.windows;
        let bar = LoadBar::begin(name, load.duration * (windows + 1), Arc::clone(&live));
        self.lab
            .run(work, currency, quantity, load, Arc::clone(&live))
            .await?;
        let before = self.lab.network.disk_use()?.live_bytes;
        let costs = CostReading::of(&self.lab.network).await?;
        let mut rates = Vec::new();
        let (mut flows, mut failed) = (0usize, 0u64);
        let mut first = None;
        for _ in 0..windows {
            let window = self
                .lab
                .run(work, currency, quantity, load, Arc::clone(&live))
                .await?;
            rates.push(window.per_s());
            flows += window.done.len();
            failed += window.failed();
            first = first.or_else(|| window.faults.into_iter().next());
        }
        bar.end().await;
        if flows == 0 {
            bail!("{name}: nothing was delivered; first error: {first:?}");
        }
        let costs = costs.costs(&self.lab.network, flows as u64).await?;
        let after = self.lab.network.disk_use()?.live_bytes;
        let rate = Rate {
            per_s: median(&rates),
            // Clipped at 0: a merge may have freed more than the flows took.
            bytes_per_flow: after.saturating_sub(before) as f64 / flows as f64,
            costs,
        };
        let shown: Vec<String> = rates.iter().map(|rate| number(*rate)).collect();
        eprintln!(
            "  {name:<26} {:>8} /s  (windows {}; {} bytes a flow; {failed} failed{})",
            number(rate.per_s),
            shown.join(" "),
            number(rate.bytes_per_flow),
            first.map_or_else(String::new, |(code, _)| format!(", such as {code}")),
        );
        eprintln!("  {:<26} {}", "", rate.costs.text());
        Ok(rate)
    }

    /// Measures the processor time of a payment at a low rate, where little is shared between flows.
    async fn costs_at(&mut self, per_s: f64) -> Result<Costs> {
        let rate = |duration| Arrivals {
            per_s,
            duration,
            outstanding_max: self.arguments.outstanding as usize,
        };
        let [first, rest] = [LOW_RATE_WARM_UP, LOW_RATE_TIME].map(rate);
        let live = Arc::new(Live::default());
        let name = format!("Payments at {per_s} /s");
        let bar = LoadBar::begin(&name, LOW_RATE_WARM_UP + LOW_RATE_TIME, Arc::clone(&live));
        let work = CashWork::Pay { states: 1 };
        let lab = &mut self.lab;
        lab.run_at(work, "CHF", PAYMENT, (first, 1), Arc::clone(&live))
            .await?;
        let before = CostReading::of(&lab.network).await?;
        let arrived = lab.run_at(work, "CHF", PAYMENT, (rest, 1), live).await?;
        bar.end().await;
        let paid = arrived.latencies.count();
        if paid < arrived.due * 95 / 100 {
            bail!(
                "{name}: only {paid} of {} payments were delivered: {:?}",
                arrived.due,
                arrived.faults
            );
        }
        let costs = before.costs(&self.lab.network, paid).await?;
        eprintln!("  {name:<26} {}", costs.text());
        Ok(costs)
    }

    /// Measures latencies with one flow at a time.
    async fn latency(&mut self) -> Result<Latency> {
        let load = |most| Load {
            outstanding: 1,
            duration: LATENCY_MAX,
            most,
        };
        let mut one = async |work, currency, most| -> Result<_> {
            let live = Arc::new(Live::default());
            let quantity = if work == CashWork::Issue { 100 } else { 60 };
            let window = self
                .lab
                .run(work, currency, quantity, load(most), live)
                .await?;
            if window.done.is_empty() {
                bail!("no flow was delivered: {:?}", window.faults);
            }
            Ok(window.latencies)
        };
        // The first flows pay for caches and connections. They are run but not counted.
        one(CashWork::Issue, "NOK", 50).await?;
        let issue = one(CashWork::Issue, "NOK", LATENCY_FLOWS).await?;
        let pay_work = CashWork::Pay { states: 1 };
        one(pay_work, "NOK", 50).await?;
        let pay = one(pay_work, "NOK", LATENCY_FLOWS).await?;
        let latency = Latency {
            issue_p50: issue.p50_ms(),
            issue_p99: issue.p99_ms(),
            pay_p50: pay.p50_ms(),
            pay_p99: pay.p99_ms(),
        };
        eprintln!(
            "  One outstanding            issue p50 {} p99 {} ms, pay p50 {} p99 {} ms",
            number(latency.issue_p50),
            number(latency.issue_p99),
            number(latency.pay_p50),
            number(latency.pay_p99)
        );
        Ok(latency)
    }

    /// Restarts all processes with the run's data, and returns the slowest start.
    async fn startup_ms(&mut self) -> Result<f64> {
        let step = Step::begin("Restart");
        let mut slowest = Duration::ZERO;
        for who in self.lab.network.everybody() {
            slowest = slowest.max(self.lab.network.restart(who)?);
        }
        let ms = slowest.as_secs_f64() * 1000.0;
        step.done(&format!("{} ms", number(ms)));
        Ok(ms)
    }
}
