//! `tally lab save` keeps a run in a small file, from which the published results are made.

use std::path::{Path, PathBuf};

use perf::report::{self, SaveError, SaveOptions};
use serde::Serialize;

use super::report::failed;
use crate::failure::Failure;
use crate::output::Output;

/// The folder of the repository that the published results are made from.
const FOLDER: &str = "docs/results/runs";
/// The file with this machine's name.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";
/// Variables with the name of the account.
const ACCOUNT: [&str; 2] = ["USER", "LOGNAME"];

/// Arguments of `tally lab save`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The report.json of a run, or its folder
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// The folder for the file, which gets the scenario's name
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    into: PathBuf,
    /// Another name for the file, without .json
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Save repeats that are too short to quote as well; the pages say so
    #[arg(long)]
    short: bool,
    #[command(flatten)]
    pub output: Output,
}

/// A saved run file.
#[derive(Debug, Serialize)]
struct SavedFile {
    /// The file.
    file: String,
    /// Its size.
    bytes: u64,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let report = report::read(&self.report).map_err(|error| failed(&self.report, error))?;
        let options = SaveOptions {
            folder: self.into,
            name: self.name,
            short: self.short,
            names: names(),
        };
        let files = report::save(&report, &options).map_err(|error| refused(&error))?;
        let saved: Vec<SavedFile> = files.iter().map(|file| saved(file)).collect();
        self.output.show(&saved, |saved| {
            let lines = saved.iter();
            lines
                .map(|one| format!("{}  {} bytes\n", one.file, one.bytes))
                .collect()
        })
    }
}

fn saved(file: &Path) -> SavedFile {
    SavedFile {
        file: file.display().to_string(),
        // The size is for information only; the file was just written.
        bytes: std::fs::metadata(file).map_or(0, |metadata| metadata.len()),
    }
}

/// Returns the names of this machine and account.
fn names() -> Vec<String> {
    // Without one, there is no such name that a report could contain.
    let host = std::fs::read_to_string(HOST_NAME).unwrap_or_default();
    let accounts = ACCOUNT.iter().filter_map(|name| std::env::var(name).ok());
    names_of(&host, accounts, std::env::home_dir().as_deref())
}

/// Returns the name of a machine, with and without its domain, and those of an account and of its folder.
fn names_of(
    host: &str,
    accounts: impl Iterator<Item = String>,
    home: Option<&Path>,
) -> Vec<String> {
    let host = host.trim();
    let short = host.split('.').next();
    let home = home.and_then(Path::file_name);
    let home = home.map(|name| name.to_string_lossy().into_owned());
    let hosts = [Some(host), short].into_iter().flatten().map(str::to_owned);
    let mut names: Vec<String> = hosts
        .chain(accounts)
        .chain(home)
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn refused(error: &SaveError) -> Failure {
    let errors = [report::SAVE_ERRORS, report::ERRORS].concat();
    let info = errors.iter().find(|info| info.code == error.code());
    let hint = info.map_or("", |info| info.action);
    Failure::local(error.code(), error.to_string(), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_machine_and_account_are_collected() {
        for (host, accounts, home, expected) in [
            (
                "ada-laptop.example\n",
                vec!["ada"],
                Some("/home/lovelace"),
                vec!["ada", "ada-laptop", "ada-laptop.example", "lovelace"],
            ),
            ("", vec![], None, vec![]),
        ] {
            let accounts = accounts.into_iter().map(str::to_owned);
            assert_eq!(names_of(host, accounts, home.map(Path::new)), expected);
        }
    }
}
