//! `tally demo`: the first minute. A notary and two nodes as real processes, load, audit, a table, nothing left behind.

mod progress;

use anyhow::Result;

/// Arguments of `tally demo`.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Flows outstanding at any moment.
    #[arg(long, default_value_t = 800, value_name = "N")]
    outstanding: usize,
    /// Seconds of load for each kind of work.
    #[arg(long, default_value_t = 5, value_name = "S")]
    seconds: u64,
    /// Leave the network up and print what to try next (also: KEEP=1 in the environment).
    #[arg(long)]
    keep: bool,
    /// Print the result as one line of JSON on standard output instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the demo to its end, or until Ctrl-C.
pub fn run(arguments: DemoArgs) -> Result<()> {
    let _ = arguments;
    anyhow::bail!("the demo needs a node that runs")
}
