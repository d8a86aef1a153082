//! Errors of a report's files.

use primitives::ErrorInfo;

/// Why a report was not written or read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The document was written by a newer program.
    #[error("the report has schema {found}, this program reads up to {known}")]
    Newer {
        /// Its schema.
        found: u64,
        /// The newest that this program knows.
        known: u32,
    },
    /// It is no report, or a damaged one.
    #[error("not a report: {0}")]
    Unreadable(String),
    /// It is larger than any report that this program writes.
    #[error("the file has {found} bytes; a report has at most {max}")]
    TooLarge {
        /// Its size.
        found: u64,
        /// The limit.
        max: u64,
    },
    /// A file could not be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file could not be written; none of the report's files was put in place.
    #[error("{path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// The error codes of this module with causes and actions, sorted.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "lab.report_newer",
        cause: "The report was written by a newer version of this program, in a form that this one does not know.",
        action: "Read it with the version that the report names, or a later one.",
    },
    ErrorInfo {
        code: "lab.report_too_large",
        cause: "The file is larger than any report may be.",
        action: "Check that it is the report.json of a run; run scenarios of that size one by one.",
    },
    ErrorInfo {
        code: "lab.report_unreadable",
        cause: "The file is not a report, is damaged, or could not be read.",
        action: "Give a report.json, or the folder it is in, as tally lab run wrote it.",
    },
    ErrorInfo {
        code: "lab.report_unwritten",
        cause: "A file of the report could not be written; an earlier file at that path is unchanged.",
        action: "Check the folder's permissions and the room on its disk, then run again or elsewhere with --out.",
    },
];

impl ReportError {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            ReportError::Newer { .. } => "lab.report_newer",
            ReportError::TooLarge { .. } => "lab.report_too_large",
            ReportError::Unreadable(_) | ReportError::Read { .. } => "lab.report_unreadable",
            ReportError::Write { .. } => "lab.report_unwritten",
        }
    }
}
