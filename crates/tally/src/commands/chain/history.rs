//! `tally chain history`

use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use node::chain::{HistoryMade, HistoryPlan, make_history};
use serde::Serialize;

use crate::demo::progress::colour;
use crate::failure::Failure;
use crate::folder;
use crate::output::{Output, counted, grouped, pairs};

/// Maximum refresh rate of the bar.
const EVERY_HZ: u8 = 5;

/// Arguments of `tally chain history`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of a stopped node of a test network
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Payments to make, on all chains
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    transactions: u64,
    /// Maximum number of payments in a block; the network's limit by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    per_block: Option<u32>,
    #[command(flatten)]
    pub output: Output,
}

/// The result, for programs.
#[derive(Debug, Serialize)]
struct Made {
    transactions: u64,
    blocks: u32,
    height: u32,
    seconds: f64,
    transactions_per_s: f64,
    disk_bytes: u64,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        folder::holds_chain_node(&self.folder)?;
        let plan = HistoryPlan {
            transactions: self.transactions,
            per_block: self.per_block.map(|count| count as usize),
        };
        let bar = bar(self.transactions);
        let begun = Instant::now();
        let mut told = |made: &HistoryMade| {
            bar.set_position(made.transactions);
            bar.set_message(words(made, begun.elapsed()));
        };
        let made = make_history(&self.folder, plan, &mut told);
        bar.finish_and_clear();
        let made = made.map_err(|error| Failure::coded(&error))?;
        let seconds = begun.elapsed().as_secs_f64();
        let made = Made {
            transactions: made.transactions,
            blocks: made.blocks,
            height: made.height.get(),
            seconds,
            transactions_per_s: made.transactions as f64 / seconds.max(f64::MIN_POSITIVE),
            disk_bytes: made.disk_bytes,
        };
        self.output.show(&made, people)
    }
}

fn bar(length: u64) -> ProgressBar {
    let bar =
        ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(EVERY_HZ));
    let template = if colour() {
        "  {bar:30.green/dim} {msg}"
    } else {
        "  {bar:30} {msg}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}

fn words(made: &HistoryMade, taken: Duration) -> String {
    let rate = made.transactions as f64 / taken.as_secs_f64().max(f64::MIN_POSITIVE);
    format!(
        "{} in {}, {}/s",
        counted(made.transactions, "payment"),
        counted(made.blocks, "block"),
        grouped(rate as u64)
    )
}

fn people(made: &Made) -> String {
    pairs(&[
        ("payments", grouped(made.transactions)),
        ("blocks", grouped(made.blocks)),
        ("height", grouped(made.height)),
        (
            "took",
            format!(
                "{:.1} s, {}/s",
                made.seconds,
                grouped(made.transactions_per_s as u64)
            ),
        ),
        ("on disk", format!("{} bytes", grouped(made.disk_bytes))),
    ])
}
