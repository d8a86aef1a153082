//! A report as JSON: the form that other programs, and this one's comparisons, read.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::digest::{Digest, digest};
use super::error::ReportError;
use super::finite::finite;
use crate::results::{Report, SCHEMA};

/// The largest document that is read, bytes: a day of seconds with a few hundred processes stays below it.
pub const JSON_BYTES_MAX: u64 = 512 << 20;

/// The file's name in a report's folder.
pub const JSON_NAME: &str = "report.json";

/// Returns the document on one line, with the digest of each scenario. A reader ignores the digests and computes them again.
///
/// # Errors
/// Fails only if it cannot be serialised, which no report of this program can cause.
pub fn json(report: &Report) -> Result<String, ReportError> {
    let mut report = finite(report);
    report.schema = SCHEMA;
    let digests = report.scenarios.iter();
    let digests = digests.map(|scenario| digest(&report, scenario)).collect();
    let document = Document {
        report: &report,
        digests,
    };
    let mut text = serde_json::to_string(&document)
        .map_err(|error| ReportError::Unreadable(error.to_string()))?;
    text.push('\n');
    Ok(text)
}

/// Reads the output of [`json`], of this schema or an older one.
///
/// # Errors
/// `lab.report_newer`, `lab.report_too_large`, `lab.report_unreadable`.
pub fn parse(text: &[u8]) -> Result<Report, ReportError> {
    let found = text.len() as u64;
    if found > JSON_BYTES_MAX {
        return Err(ReportError::TooLarge {
            found,
            max: JSON_BYTES_MAX,
        });
    }
    let unreadable = |error: serde_json::Error| ReportError::Unreadable(error.to_string());
    let head: Head = serde_json::from_slice(text).map_err(unreadable)?;
    if head.schema > u64::from(SCHEMA) {
        return Err(ReportError::Newer {
            found: head.schema,
            known: SCHEMA,
        });
    }
    if head.schema == 0 {
        return Err(ReportError::Unreadable(
            "schema 0 does not exist".to_owned(),
        ));
    }
    let report: Report = serde_json::from_slice(text).map_err(unreadable)?;
    // Numbers such as 1e999 are read as infinite.
    Ok(finite(&report))
}

/// Reads a report from its file, or from the folder that it is in.
///
/// # Errors
/// As [`parse`].
pub fn read(path: &Path) -> Result<Report, ReportError> {
    let inside = path.join(JSON_NAME);
    let path = if path.is_dir() { &inside } else { path };
    let failed = |source| ReportError::Read {
        path: path.display().to_string(),
        source,
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = Vec::new();
    // Reads one byte beyond the limit. This detects a file that is too large, even if it grows or is not a plain file.
    file.take(JSON_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(failed)?;
    parse(&text)
}

/// The written document.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// In the order of the scenarios.
    digests: Vec<Digest>,
}

/// The common part of all schemas.
#[derive(Deserialize)]
struct Head {
    schema: u64,
}
