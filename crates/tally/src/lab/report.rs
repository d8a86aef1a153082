//! `tally lab report` draws the page and tables of an earlier run again from its report.json, as the run itself does.

use std::path::{Path, PathBuf};

use perf::report::{self, Parts, ReportError};

use super::run::outcome;
use crate::failure::Failure;
use crate::output::{Output, stdout_ink};

/// Arguments of `tally lab report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The report.json of an earlier run, or its folder
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// Draw the page, report.html; without this and --csv both are written
    #[arg(long)]
    html: bool,
    /// Write the tables, report.csv, series.csv and processes.csv
    #[arg(long)]
    csv: bool,
    /// The output folder; the report's folder by default
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let report = report::read(&self.report).map_err(|error| failed(&self.report, error))?;
        let out = self.out.clone().unwrap_or_else(|| beside(&self.report));
        let files = report::redraw(&report, &out, self.parts());
        for file in files.map_err(|error| failed(&out, error))? {
            eprintln!("  {}", file.display());
        }
        let tables = |_: &_| outcome::tables(&report, stdout_ink().is_on());
        self.output.show(&outcome::json(&report, &out), tables)
    }

    fn parts(&self) -> Parts {
        match (self.html, self.csv) {
            (false, false) => Parts::ALL,
            (page, tables) => Parts { page, tables },
        }
    }
}

/// Returns the folder of a report.
fn beside(report: &Path) -> PathBuf {
    if report.is_dir() {
        return report.to_owned();
    }
    match report.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Returns the failure for a report's file.
pub(super) fn failed(path: &Path, error: ReportError) -> Failure {
    let info = report::ERRORS.iter().find(|info| info.code == error.code());
    let message = match &error {
        ReportError::Read { .. } | ReportError::Write { .. } => error.to_string(),
        _ => format!("{}: {error}", path.display()),
    };
    Failure::local(error.code(), message, info.map_or("", |info| info.action))
}
