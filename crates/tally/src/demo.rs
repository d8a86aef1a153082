//! `tally demo` starts a notary and two nodes as real processes, runs a load and an audit, prints a table, and removes
//! everything.

mod outcome;
pub mod progress;
pub mod signals;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use perf::load::{Live, Load};
use perf::report::{ISSUE, ISSUE_AND_PAY, Published, REPEATED_PAY};
use perf::scenario::{CashLab, CashWork};
use perf::topology::{Network, NetworkOptions};

use outcome::{DemoOutcome, Row};
use progress::{LoadBar, Step};

/// Maximum number of coins at the start of Repeated Pay. It is lower if fewer flows are outstanding.
const COINS_MAX: u64 = 800;
/// Minor units in each coin: enough for any run.
const COIN: u64 = 1_000_000_000;

/// Minor units of each issue and payment. A payment splits into at most this many states.
const PAYMENT: u64 = 1_000;

/// Arguments of `tally demo`.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Flows outstanding at the same time.
    #[arg(long, default_value_t = 800, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4000))]
    outstanding: u32,
    /// Seconds of load for each kind of work.
    #[arg(long, default_value_t = 5, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// States that each payment of Repeated Pay makes for its payee.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    states: u32,
    /// Leave the network up and print commands to try next (also: KEEP=1 in the environment).
    #[arg(long)]
    keep: bool,
    /// Print the result as one line of JSON on standard output instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the demo to its end, or until Ctrl-C. All files and processes are removed unless `keep` is set.
pub fn run(arguments: DemoArgs) -> Result<()> {
    signals::run(drive(arguments))
}

async fn drive(arguments: DemoArgs) -> Result<()> {
    let keep = arguments.keep
        || std::env::var_os("KEEP").is_some_and(|value| !value.is_empty() && value != "0");
    eprintln!(
        "Tallystick: a notary and two banks, separate processes, mutual TLS, every commit synced\n"
    );
    let binary = std::env::current_exe().context("cannot find the executable of this program")?;
    let step = Step::begin("Network");
    // Not on the runtime's thread, so that Ctrl-C is handled in the meantime.
    let network =
        tokio::task::spawn_blocking(move || Network::bring_up(&NetworkOptions::two_banks(binary)))
            .await??;
    step.done(&network.root().display().to_string());

    let mut lab = CashLab::new(network)?;
    let mut rows = Vec::new();
    let coins = COINS_MAX.min(u64::from(arguments.outstanding));
    for (work, currency, published) in [
        (CashWork::Issue, "GBP", ISSUE),
        (CashWork::IssueAndPay, "EUR", ISSUE_AND_PAY),
        (
            CashWork::Pay {
                states: arguments.states,
            },
            "CHF",
            REPEATED_PAY,
        ),
    ] {
        if matches!(work, CashWork::Pay { .. }) {
            lab.fund(currency, coins, COIN).await?;
        }
        rows.push(stretch(&mut lab, work, currency, published, &arguments).await?);
    }

    let step = Step::begin("Audit");
    let verdict = lab.audit().await?;
    if verdict.is_clean() {
        step.done(&verdict.to_string());
    } else {
        step.failed(&verdict.to_string());
    }
    let outcome = DemoOutcome {
        rows,
        audit: verdict,
        rss_mb_max: lab.network.rss_mb_max(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
    };
    if arguments.json {
        println!("{}", outcome.json());
    } else {
        println!("\n{outcome}");
    }
    if keep {
        let network = lab.network;
        eprint!("{}", outcome::what_next(&network));
        network.keep();
    }
    if !outcome.audit.is_clean() {
        bail!("the audit found violations");
    }
    Ok(())
}

async fn stretch(
    lab: &mut CashLab,
    work: CashWork,
    currency: &str,
    published: Published,
    arguments: &DemoArgs,
) -> Result<Row> {
    let live = Arc::new(Live::default());
    let load = Load {
        outstanding: arguments.outstanding as usize,
        duration: Duration::from_secs(u64::from(arguments.seconds)),
        most: u64::MAX,
    };
    let bar = LoadBar::begin(published.work, load.duration, Arc::clone(&live));
    let window = lab.run(work, currency, PAYMENT, load, live).await?;
    bar.end().await;
    let row = Row::new(published, &window);
    eprintln!("  {} {}", progress::tick(), row.line());
    Ok(row)
}
