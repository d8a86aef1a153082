//! `tally vault rebuild`

use std::path::PathBuf;
use std::time::Instant;

use node::bootstrap::load_node_dir;
use node::{Apps, rebuild_view};
use serde::Serialize;

use crate::Register;
use crate::failure::Failure;
use crate::folder;
use crate::output::{Output, counted};
use crate::progress::progress_bar;

/// Arguments of `tally vault rebuild`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the node, which must be stopped
    #[arg(long, value_name = "DIR", env = "TALLY_NODE")]
    node: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

/// The result.
#[derive(Debug, Serialize)]
struct Report {
    /// Number of transactions in the ledger.
    transactions: u64,
    /// Number of states in the view, including consumed ones.
    states: u64,
    seconds: f64,
}

impl Args {
    pub fn run(self, register: Register) -> Result<(), Failure> {
        let began = Instant::now();
        folder::holds_node(&self.node)?;
        let files = load_node_dir(&self.node).map_err(|error| Failure::coded(&error))?;
        let mut apps = Apps::built_in().map_err(|error| Failure::coded(&error))?;
        register(&mut apps.contracts, &mut apps.flows).map_err(|error| Failure::coded(&error))?;
        let bar = progress_bar("transactions");
        let rebuilt = rebuild_view(files, apps, &mut |done, all| {
            bar.set_length(all);
            bar.set_position(done);
        });
        bar.finish_and_clear();
        let rebuilt = rebuilt.map_err(|error| Failure::coded(&error))?;
        let millis = began.elapsed().as_millis();
        let report = Report {
            transactions: rebuilt.transactions,
            states: rebuilt.states,
            seconds: millis as f64 / 1_000.0,
        };
        self.output.show(&report, |report| {
            format!(
                "{} of {} in {:.1} s",
                counted(report.states, "state"),
                counted(report.transactions, "transaction"),
                report.seconds
            )
        })
    }
}
