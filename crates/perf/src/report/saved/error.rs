//! Errors of saved run files.

use primitives::ErrorInfo;

use crate::report::error::ReportError;

/// Why a run was not saved, or a saved run file not read.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The run has no valid figures.
    #[error("{scenario}: {why}; a saved run has ended, and its audits are clean")]
    Unfit {
        /// The scenario.
        scenario: String,
        /// Why.
        why: String,
    },
    /// Its repeats are too few or too short.
    #[error("{scenario}: too short to quote: {why}")]
    TooShort {
        /// The scenario.
        scenario: String,
        /// The point, its figure and the expected one.
        why: String,
    },
    /// It names a path, an account or a machine.
    #[error("{scenario}: {field} names {found:?}, which would be published")]
    Private {
        /// The scenario.
        scenario: String,
        /// The field of the document.
        field: String,
        /// The text.
        found: String,
    },
    /// The file would be too large for a repository.
    #[error("{name}: {found} bytes; a saved run file has at most {max}")]
    TooLarge {
        /// The scenario or the file.
        name: String,
        /// Its size.
        found: u64,
        /// The limit.
        max: u64,
    },
    /// The names asked for do not fit the report.
    #[error("{0}")]
    Names(String),
    /// The file is a report, but not one as it is saved.
    #[error("{path}: not a saved run file: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// The report could not be read, or the file not be written.
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// The error codes of this module with causes and actions, sorted.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "lab.save_names",
        cause: "The name of the file is not one, or it was given for a report with several scenarios.",
        action: "Give --name a short name of letters, digits and hyphens, and a report with one scenario.",
    },
    ErrorInfo {
        code: "lab.save_private",
        cause: "The scenario of the run contains a path of this machine, its name or that of the account, passphrases, or addresses of running systems.",
        action: "Take the text out of the scenario file, or use relative paths and default accounts, then run again.",
    },
    ErrorInfo {
        code: "lab.save_too_large",
        cause: "The run has more points and repeats than a saved run file may hold.",
        action: "Run the scenario in parts, such as with --set sweep.LABEL.only=[...], and save each with --name.",
    },
    ErrorInfo {
        code: "lab.save_too_short",
        cause: "A published figure needs five repeats of at least a minute and 1,000 units, or one long stretch. A load that counts its units needs 1,000 of them, or the published number if that is lower.",
        action: "Run again with --set run.seconds=60 --set run.repeats=5. To save it with that mark nevertheless, add --short.",
    },
    ErrorInfo {
        code: "lab.save_unfit",
        cause: "The run was interrupted, a scenario failed, a point was not measured, or an audit is missing or failed, so its figures are not valid.",
        action: "Find the reason on the report's page, and run the scenario again to its end.",
    },
    ErrorInfo {
        code: "lab.saved_unreadable",
        cause: "The file is not a saved run file, or a figure or interval does not follow from its repeats.",
        action: "Make it again with tally lab save; do not edit it.",
    },
];

impl SaveError {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            SaveError::Unfit { .. } => "lab.save_unfit",
            SaveError::TooShort { .. } => "lab.save_too_short",
            SaveError::Private { .. } => "lab.save_private",
            SaveError::TooLarge { .. } => "lab.save_too_large",
            SaveError::Names(_) => "lab.save_names",
            SaveError::Unreadable { .. } => "lab.saved_unreadable",
            SaveError::Report(error) => error.code(),
        }
    }
}
