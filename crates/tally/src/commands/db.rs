//! `tally db`: the data of a stopped node on a database server.

use std::path::PathBuf;
use std::time::Instant;

use clap::Subcommand;
use node::bootstrap::load_node_dir;
use node::{check_database, export_database, import_database, migrate_database};
use serde::Serialize;

use crate::failure::Failure;
use crate::folder;
use crate::output::{Output, counted};
use crate::progress::progress_bar;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the tables of a node on its database server, or bring them up to date
    Migrate(Args),
    /// Compare every row on the database server with the node's cache, and every later commit with its checksum
    Check(Args),
    /// Move the embedded store of a stopped node to its database server
    Import(Args),
    /// Move the data of a stopped node from its database server to an embedded store
    Export(Args),
}

/// Arguments of the commands.
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
    /// The result in words.
    done: &'static str,
    /// Number of rows, all tables together.
    rows: u64,
    seconds: f64,
    /// The next step, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        let began = Instant::now();
        let (Command::Migrate(arguments)
        | Command::Check(arguments)
        | Command::Import(arguments)
        | Command::Export(arguments)) = &self;
        folder::holds_node(&arguments.node)?;
        let files = load_node_dir(&arguments.node).map_err(|error| Failure::coded(&error))?;
        let bar = progress_bar("rows");
        let progress = &mut |done, all| {
            // A comparison begins again after the rows were moved.
            bar.set_length(all);
            bar.set_position(done);
        };
        let done = match &self {
            Command::Migrate(_) => migrate_database(&files).map(|()| ("tables are there", 0, None)),
            Command::Check(_) => {
                check_database(&files, progress).map(|rows| ("compared", rows, None))
            }
            Command::Import(_) => import_database(&files, progress).map(|(rows, kept)| {
                let next = format!(
                    "start the node; {} is the old store, which may be deleted when all is well",
                    kept.display()
                );
                ("moved to the database server", rows, Some(next))
            }),
            Command::Export(_) => export_database(&files, progress).map(|rows| {
                let next = "remove database.url from node.toml and start the node; no node can use the schema any more, and it may be dropped when all is well";
                ("moved to the node's folder", rows, Some(next.to_owned()))
            }),
        };
        bar.finish_and_clear();
        let (done, rows, next) = done.map_err(|error| Failure::coded(&error))?;
        let millis = began.elapsed().as_millis();
        let report = Report {
            done,
            rows,
            seconds: millis as f64 / 1_000.0,
            next,
        };
        arguments.output.show(&report, |report| {
            let rows = match report.rows {
                0 => String::new(),
                rows => format!("{} ", counted(rows, "row")),
            };
            let next = match &report.next {
                Some(next) => format!("\nnext: {next}"),
                None => String::new(),
            };
            format!("{rows}{} in {:.1} s{next}", report.done, report.seconds)
        })
    }

    pub fn wants_json(&self) -> bool {
        let (Command::Migrate(arguments)
        | Command::Check(arguments)
        | Command::Import(arguments)
        | Command::Export(arguments)) = self;
        arguments.output.json
    }
}
