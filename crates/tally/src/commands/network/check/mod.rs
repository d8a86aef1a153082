//! `tally network check` checks that the folders of a network are consistent, and that its nodes run and are connected.

mod codes;
mod finding;
mod folders;
mod running;

use std::path::{Path, PathBuf};

pub use codes::ERRORS;

use self::finding::{Finding, people};
use crate::commands::doctor::Verdict;
use crate::failure::{Failure, about_file};
use crate::folder;
use crate::output::Output;

/// The node's configuration file in its folder.
const CONFIG: &str = "node.toml";
/// Maximum number of folders in one run.
const FOLDERS_MAX: usize = 1_000;

/// Arguments of `tally network check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that bootstrap made, or the folder of one node
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let folders = node_folders(&self.dir)?;
        let (mut findings, read) = folders::check(&folders);
        findings.extend(running::check(&read));
        // The most severe findings come last, where they are visible.
        findings.sort_by_key(|finding| finding.verdict);
        self.output.show(&findings, |findings| people(findings))?;
        let is_problem = |finding: &&Finding| finding.verdict == Verdict::Problem;
        let problems = findings.iter().filter(is_problem).count();
        if problems == 0 {
            return Ok(());
        }
        Err(Failure::local(
            "tally.unwell",
            format!("{problems} of {} findings are problems", findings.len()),
            "Follow the hint of each problem, then repeat the command.",
        ))
    }
}

/// Returns a node's own folder, or those of all nodes in a network's folder.
fn node_folders(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    if dir.join(CONFIG).exists() {
        return Ok(vec![dir.to_owned()]);
    }
    folder::holds_nodes(dir)?;
    let entries = std::fs::read_dir(dir).map_err(|error| about_file(dir, &error))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.join(CONFIG).exists()).collect();
    folders.sort();
    folders.truncate(FOLDERS_MAX);
    if folders.is_empty() {
        return Err(about_file(dir, &"no folder of a node is in it"));
    }
    Ok(folders)
}
