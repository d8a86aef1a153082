//! Writes a report's files: all of them or none.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::error::ReportError;
use super::{csv, csv_chain, html, json};
use crate::results::Report;

/// The page's name in a report's folder.
pub const HTML_NAME: &str = "report.html";

/// The parts of a report that are drawn from its JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The page.
    pub page: bool,
    /// The tables, as CSV.
    pub tables: bool,
}

impl Parts {
    /// Everything.
    pub const ALL: Parts = Parts {
        page: true,
        tables: true,
    };
}

/// Writes the report into `folder`, which is created if needed: `report.json`, `report.html`, `report.csv` (points),
/// `series.csv` (seconds) and `processes.csv`. For chains it also writes `blocks.csv`, `ranges.csv`, `fill.csv`,
/// `hundreds.csv` and `fullest.csv`. All files are first written under temporary names. Then each atomically replaces the
/// earlier file, so a full disk leaves the earlier files intact. Returns the files, the page first.
///
/// # Errors
/// `lab.report_unwritten`.
pub fn write(report: &Report, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let mut files = drawn(report, Parts::ALL);
    files.insert(1, (json::JSON_NAME, json::json(report)?));
    write_files(folder, &files)
}

/// Writes these parts of a report that was read into `folder`, in the same way; its JSON stays as it is.
///
/// # Errors
/// `lab.report_unwritten`.
pub fn redraw(report: &Report, folder: &Path, parts: Parts) -> Result<Vec<PathBuf>, ReportError> {
    write_files(folder, &drawn(report, parts))
}

fn drawn(report: &Report, parts: Parts) -> Vec<(&'static str, String)> {
    let mut files = Vec::new();
    if parts.page {
        files.push((HTML_NAME, html(report)));
    }
    if parts.tables {
        files.push(("report.csv", csv::metrics(report)));
        files.push(("series.csv", csv::series(report)));
        files.push(("processes.csv", csv::processes(report)));
        files.extend(csv_chain::tables(report));
    }
    files
}

/// Writes `files` (name, text) into `folder`: all under other names first, then all renamed.
pub(super) fn write_files(
    folder: &Path,
    files: &[(&str, String)],
) -> Result<Vec<PathBuf>, ReportError> {
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let mut staged = Staged(Vec::new());
    for (name, text) in files {
        let path = folder.join(name);
        let temporary = folder.join(format!(".{name}.{}.new", std::process::id()));
        staged.0.push((temporary.clone(), path));
        let mut file = fs::File::create(&temporary).map_err(failed(&temporary))?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(failed(&temporary))?;
    }
    let mut written = Vec::new();
    for (temporary, path) in &staged.0 {
        fs::rename(temporary, path).map_err(failed(path))?;
        written.push(path.clone());
    }
    staged.0.clear();
    Ok(written)
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> ReportError {
    let path = path.display().to_string();
    |source| ReportError::Write { path, source }
}

/// Files under their temporary names. Files that were not renamed are removed on drop.
struct Staged(Vec<(PathBuf, PathBuf)>);

impl Drop for Staged {
    fn drop(&mut self) {
        for (temporary, _) in &self.0 {
            // Ignore the error: the name of a remaining temporary file shows that it is not a report.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Writes one file and atomically replaces an earlier one.
///
/// # Errors
/// `lab.report_unwritten`.
pub fn write_file(path: &Path, text: String) -> Result<(), ReportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    write_files(folder, &[(&name, text)]).map(|_| ())
}
