//! The rate of honest members beside a member that does its worst, with real processes, TLS and durable commits. Prints one line of
//! JSON, the last on standard output. See `docs/reference/benchmarks.md`.
//!
//! `siege [ROUNDS [SECONDS [ATTACK]]] [--check]`: rounds of three windows for each kind of attack, the seconds of a window, and the only
//! kind of attack. With `--check` it fails if honest members keep too little of their rate, or a victim uses too much memory or starts too slowly.

mod attack;
#[path = "../../tests/it/running/besieger.rs"]
mod besieger;
mod load;
mod process;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use attack::{ATTACKS, Attack, BYTES_PER_S, Order, Sent};
use client::{Client, FlowAction};
use kernel::BACKLOG_BYTES_MAX;
use load::Load;
use node::bootstrap::{NetworkSpec, bootstrap, load_node_dir};
use process::{Process, run_node, start_node};
use serde::Serialize;
use serde_json::json;

/// The hostile member's place is taken by this program.
const MEMBERS: [&str; 4] = ["Bank", "Other", "Hostile", "Notary"];
/// Time before a window, so that the rate settles.
const SETTLE: Duration = Duration::from_secs(1);
/// Starts that are timed before the attacks, and after them.
const STARTS: usize = 3;
/// Most rounds of each kind of attack, and most seconds of a window.
const ROUNDS_MAX: u64 = 20;
const SECONDS_MAX: u64 = 60;

/// Least median rate of honest members under an attack, by their rate without it.
const RATIO_LEAST: f64 = 0.8;
/// Longest start with the flows of the attack, by that without them.
const START_RATIO_MOST: f64 = 1.5;

/// Payments of one window.
#[derive(Clone, Copy)]
struct Window {
    per_s: f64,
    honest_cpu_s: f64,
    attacker_cpu_s: f64,
}

/// A window under attack between two windows without it.
#[derive(Debug, Serialize)]
struct Triple {
    attack: Attack,
    calm_per_s: [f64; 2],
    siege_per_s: f64,
    /// The rate under attack, by the mean of the two calm rates.
    ratio: f64,
    /// Processor time of bank, other bank and notary for a payment, in milliseconds: before the attack, under it and after it.
    honest_cpu_ms_per_payment: [f64; 3],
    /// Processor time of the attacker, by the length of the window.
    attacker_cores: f64,
    sent: Sent,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words = arguments.iter().map(String::as_str);
    // Cargo adds this word.
    let mut words: Vec<&str> = words.filter(|word| *word != "--bench").collect();
    let is_check = words.last() == Some(&"--check");
    if is_check {
        words.pop();
    }
    let number = |at: usize, default: u64, max: u64| -> Result<u64> {
        let Some(word) = words.get(at) else {
            return Ok(default);
        };
        let number = word.parse().with_context(|| format!("{word:?}"))?;
        if !(1..=max).contains(&number) {
            bail!("{number} is not between 1 and {max}");
        }
        Ok(number)
    };
    let runtime = tokio::runtime::Runtime::new()?;
    match words.as_slice() {
        ["node", folder] => runtime.block_on(run_node(Path::new(folder))),
        ["hostile", folder] => {
            attack::run(Path::new(folder));
            Ok(())
        }
        _ => {
            let rounds = number(0, 3, ROUNDS_MAX)?;
            let seconds = Duration::from_secs(number(1, 5, SECONDS_MAX)?);
            let attacks = match words.get(2) {
                None => ATTACKS.to_vec(),
                Some(word) => vec![serde_json::from_value(json!(word))?],
            };
            runtime.block_on(measure(&attacks, rounds, seconds, is_check))
        }
    }
}

/// The running network.
struct Network {
    out: PathBuf,
    bank: (Process, Client),
    notary: (Process, Client),
    other: (Process, Client),
    hostile: Process,
}

impl Network {
    async fn start(folder: &Path) -> Result<Self> {
        let description = folder.join("NETWORK.toml");
        let members = MEMBERS.map(|name| {
            let notary = if name == "Notary" {
                "notary = true\n"
            } else {
                ""
            };
            format!("[[node]]\nname = \"O={name}, L=London, C=GB\"\n{notary}")
        });
        std::fs::write(&description, members.concat())?;
        let out = folder.join("out");
        bootstrap(&NetworkSpec::read(&description)?, &out)?;
        let (notary, notary_client, _) = start_node(&out.join("notary")).await?;
        let (bank, bank_client, _) = start_node(&out.join("bank")).await?;
        let (other, other_client, _) = start_node(&out.join("other")).await?;
        let hostile = Process::start("hostile", &out.join("hostile"))?;
        Ok(Self {
            out,
            bank: (bank, bank_client),
            notary: (notary, notary_client),
            other: (other, other_client),
            hostile,
        })
    }

    fn load(&self) -> Result<Load> {
        Load::start([
            (self.bank.1.clone(), "Other"),
            (self.other.1.clone(), "Bank"),
        ])
    }

    fn honest_cpu_s(&self) -> f64 {
        let nodes = [&self.bank, &self.other, &self.notary];
        nodes.iter().map(|(process, _)| process.cpu_s()).sum()
    }

    /// Measures one window.
    async fn window(&self, load: &Load, length: Duration) -> Window {
        tokio::time::sleep(SETTLE).await;
        let before = (load.delivered(), self.honest_cpu_s(), self.hostile.cpu_s());
        let began = Instant::now();
        tokio::time::sleep(length).await;
        let took = began.elapsed().as_secs_f64();
        Window {
            per_s: (load.delivered() - before.0) as f64 / took,
            honest_cpu_s: (self.honest_cpu_s() - before.1) / took,
            attacker_cpu_s: (self.hostile.cpu_s() - before.2) / took,
        }
    }

    /// Measures a window under attack between two calm ones. The rate of a calm window drifts with the size of the stores and with
    /// other programs on the machine, and the mean of both cancels a steady drift.
    async fn triple(&mut self, load: &Load, attack: Attack, length: Duration) -> Result<Triple> {
        self.order(Order::Connect(attack))?;
        let before = self.window(load, length).await;
        self.order(Order::Attack(attack))?;
        let siege = self.window(load, length).await;
        let sent = self.order(Order::Calm)?;
        let after = self.window(load, length).await;
        let ms = |window: Window| window.honest_cpu_s * 1_000.0 / window.per_s.max(0.001);
        let calm = f64::midpoint(before.per_s, after.per_s);
        Ok(Triple {
            attack,
            calm_per_s: [before.per_s, after.per_s],
            siege_per_s: siege.per_s,
            ratio: siege.per_s / calm.max(0.001),
            honest_cpu_ms_per_payment: [ms(before), ms(siege), ms(after)],
            attacker_cores: siege.attacker_cpu_s,
            sent,
        })
    }

    /// Gives the hostile process an order. Returns its traffic since the previous one.
    fn order(&mut self, order: Order) -> Result<Sent> {
        let answer = self.hostile.ask(&serde_json::to_string(&order)?)?;
        Ok(serde_json::from_str(&answer)?)
    }

    /// Starts the bank and the notary again. Returns the median times until their APIs answer, in milliseconds.
    async fn restarts(&mut self) -> Result<[f64; 2]> {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..STARTS {
            let nodes = [(&mut self.bank, "bank"), (&mut self.notary, "notary")];
            for ((node, name), times) in nodes.into_iter().zip(&mut times) {
                node.0.stop()?;
                let (process, client, took) = start_node(&self.out.join(name)).await?;
                *node = (process, client);
                times.push(took.as_secs_f64() * 1_000.0);
            }
        }
        Ok(times.map(|it| median(&it)))
    }

    /// Ends the flows that the bank holds for the hostile member, so that its next start has the same ledger without them.
    async fn kill_held(&self) -> Result<()> {
        let order = besieger::order_about_its_responders();
        let client = &self.bank.1;
        while client.order_flows(FlowAction::Kill, &order).await?.matched > 0 {}
        Ok(())
    }

    /// Returns the peak resident memory of bank and notary, in MB.
    fn rss_peaks(&self) -> [f64; 2] {
        [&self.bank, &self.notary].map(|it| it.0.rss_peak_mb().round())
    }

    /// Returns the memory that the bank's limits allow for its peers, in MB. A part of it would be one peer's share, and the rest leaves
    /// room for the growth of the ledger during the attacks.
    fn budget_mb(&self) -> Result<f64> {
        let limits = load_node_dir(&self.out.join("bank"))?.config.limits;
        let bytes = limits.peer_bytes + limits.peer_journal_bytes + BACKLOG_BYTES_MAX;
        Ok(bytes as f64 / f64::from(1 << 20))
    }
}

/// Runs the benchmark and prints the line. With `is_check` it fails if a target is missed.
async fn measure(attacks: &[Attack], rounds: u64, length: Duration, is_check: bool) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut network = Network::start(folder.path()).await?;
    let load = network.load()?;
    network.window(&load, length).await;
    let mut failed = load.stop().await;
    let before = network.restarts().await?;

    let load = network.load()?;
    network.window(&load, length).await;
    let calm_rss = network.rss_peaks();
    let mut measured = Vec::new();
    for attack in attacks.iter().copied() {
        for _ in 0..rounds {
            let triple = network.triple(&load, attack, length).await?;
            eprintln!("{}", serde_json::to_string(&triple)?);
            measured.push(triple);
        }
    }
    failed += load.stop().await;
    let peers = network.bank.1.peers().await?.peers;
    let hostile = peers.into_iter().find(|peer| peer.name.contains("Hostile"));
    let siege_rss = network.rss_peaks();
    let after = network.restarts().await?;
    network.kill_held().await?;
    let freed = network.restarts().await?;
    let medians = attacks.iter().map(|&attack| {
        let of_attack = measured.iter().filter(|triple| triple.attack == attack);
        let ratios: Vec<f64> = of_attack.map(|triple| triple.ratio).collect();
        (attack, median(&ratios))
    });
    let medians: Vec<_> = medians.collect();
    let targets = Targets {
        ratios: medians.clone(),
        failed,
        rss_mb: [calm_rss, siege_rss],
        rss_more_mb: network.budget_mb()?,
        start_ms: [freed, after],
    };
    let medians: Vec<_> = medians
        .into_iter()
        .map(|(attack, ratio)| json!({ "attack": attack, "ratio_median": ratio }))
        .collect();
    let report = json!({ "siege": {
        "attacks": medians,
        "triples": measured,
        "failed": failed,
        "attacker_bytes_per_s": BYTES_PER_S,
        "rss_peak_mb": { "calm": named(calm_rss), "siege": named(siege_rss) },
        "start_ms": { "before": named(before), "after": named(after), "freed": named(freed) },
        "held_for_hostile": hostile.and_then(|peer| peer.load),
        "load_average": load_average(),
    }});
    println!("{report}");
    let missed = targets.missed();
    if is_check && !missed.is_empty() {
        bail!("{}", missed.join("; "));
    }
    Ok(())
}

/// The measured figures that have a target. Pairs are those of the bank and of the notary.
struct Targets {
    ratios: Vec<(Attack, f64)>,
    /// Payments that failed.
    failed: u64,
    /// Peak resident memory before the attacks, and after them.
    rss_mb: [[f64; 2]; 2],
    /// The memory that a node may use for one peer.
    rss_more_mb: f64,
    /// Times of a start without the flows of the attack, and with them.
    start_ms: [[f64; 2]; 2],
}

impl Targets {
    fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for (attack, ratio) in &self.ratios {
            if *ratio < RATIO_LEAST {
                missed.push(format!(
                    "{attack:?} leaves {ratio:.2} of the rate, expected at least {RATIO_LEAST}"
                ));
            }
        }
        if self.failed > 0 {
            missed.push(format!("{} payments failed, expected none", self.failed));
        }
        let [calm, siege] = self.rss_mb;
        let [freed, after] = self.start_ms;
        for (at, node) in ["bank", "notary"].into_iter().enumerate() {
            let more = siege[at] - calm[at];
            if more > self.rss_more_mb {
                let most = self.rss_more_mb;
                missed.push(format!(
                    "the {node} takes {more} MB more, expected at most {most}"
                ));
            }
            let ratio = after[at] / freed[at].max(0.001);
            if ratio > START_RATIO_MOST {
                missed.push(format!(
                    "the {node} starts in {ratio:.2} of the time, expected at most {START_RATIO_MOST}"
                ));
            }
        }
        missed
    }
}

fn named([bank, notary]: [f64; 2]) -> serde_json::Value {
    json!({ "bank": bank, "notary": notary })
}

fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text
        .split_whitespace()
        .next()
        .and_then(|it| it.parse().ok());
    first.unwrap_or_default()
}

/// Returns the middle value, or the mean of the middle two.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}
