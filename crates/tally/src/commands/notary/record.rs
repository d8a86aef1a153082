//! `tally notary status`, `audit` and `migrate`: the record that the workers of a replicated notary share.

use std::path::PathBuf;

use node::bootstrap::{NodeFiles, load_node_dir};
use node::{StartError, audit_notary, migrate_notary, notary_status};
use serde_json::json;

use crate::failure::Failure;
use crate::folder;
use crate::output::{Output, counted, grouped, pairs};
use crate::progress::progress_count;

/// The worker whose settings are used.
#[derive(Debug, clap::Args)]
struct Worker {
    /// The folder of a worker, which may run
    #[arg(long, value_name = "DIR", env = "TALLY_NODE")]
    node: PathBuf,
}

impl Worker {
    fn files(&self) -> Result<NodeFiles, Failure> {
        folder::holds_node(&self.node)?;
        load_node_dir(&self.node).map_err(|error| Failure::coded(&error))
    }
}

/// Arguments of `tally notary status`.
#[derive(Debug, clap::Args)]
pub struct Status {
    #[command(flatten)]
    worker: Worker,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `tally notary audit`.
#[derive(Debug, clap::Args)]
pub struct AuditRecord {
    #[command(flatten)]
    worker: Worker,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `tally notary migrate`.
#[derive(Debug, clap::Args)]
pub struct Migrate {
    #[command(flatten)]
    worker: Worker,
    /// The folder of the notary whose place the workers take. It must be stopped
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

fn coded(error: StartError) -> Failure {
    Failure::coded(&error)
}

impl Status {
    pub fn run(&self) -> Result<(), Failure> {
        let shown = notary_status(&self.worker.files()?).map_err(coded)?;
        let report: serde_json::Map<_, _> = shown
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        self.output.show(&report, |_| {
            let rows: Vec<_> = shown
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone()))
                .collect();
            pairs(&rows)
        })
    }
}

impl AuditRecord {
    pub fn run(&self) -> Result<(), Failure> {
        let files = self.worker.files()?;
        let bar = progress_count("rows");
        let found = audit_notary(&files, &mut |rows| bar.set_position(rows));
        bar.finish_and_clear();
        let found = found.map_err(coded)?;
        let report = json!({
            "transactions": found.transactions,
            "states": found.states,
            "inconsistencies": found.inconsistencies,
            "shown": found.shown,
        });
        self.output.show(&report, |_| {
            let read = format!(
                "{} and {}",
                counted(found.transactions, "transaction"),
                counted(found.states, "consumed state")
            );
            match found.inconsistencies {
                0 => format!("{read}: consistent"),
                _ => format!("{read}\n{}", found.shown.join("\n")),
            }
        })?;
        if found.inconsistencies == 0 {
            return Ok(());
        }
        Err(Failure::refused(
            "record.inconsistent",
            format!(
                "{} found",
                match found.inconsistencies {
                    1 => "1 inconsistency".to_owned(),
                    many => format!("{} inconsistencies", grouped(many)),
                }
            ),
            "Stop all workers and restore the database from a backup; docs/guides/replicated-notary.md tells how.",
        ))
    }
}

impl Migrate {
    pub fn run(&self) -> Result<(), Failure> {
        let files = self.worker.files()?;
        let bar = progress_count("rows");
        let moved = migrate_notary(&files, &self.from, &mut |rows| bar.set_position(rows));
        bar.finish_and_clear();
        let rows = moved.map_err(coded)?;
        let report = json!({ "rows": rows });
        self.output.show(&report, |_| {
            format!(
                "{} moved\nnext: never start {} again, and start the workers",
                counted(rows, "row"),
                self.from.display()
            )
        })
    }
}
