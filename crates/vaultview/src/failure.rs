//! Failures of the view. They never affect the ledger.

use std::path::{Path, PathBuf};

use primitives::{Coded, ErrorInfo};
use thiserror::Error;

const FAILED_HINT: &str =
    "Free disk space or repair the disk; a running node opens the view again by itself.";
const DAMAGED_HINT: &str =
    "Nothing is lost: the node drops the view and fills it again from the ledger.";
const REFUSED_HINT: &str = "Report this: a change reached the view that its schema cannot hold.";

/// The codes of this crate.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "view.failed",
        cause: "The vault's view could not be read or written (full disk, I/O error).",
        action: FAILED_HINT,
    },
    ErrorInfo {
        code: "view.damaged",
        cause: "The vault's view is not a sound database of this version.",
        action: DAMAGED_HINT,
    },
    ErrorInfo {
        code: "view.refused",
        cause: "A change does not fit the view's limits.",
        action: REFUSED_HINT,
    },
];

/// Why the view did not answer.
#[derive(Debug, Error)]
pub enum ViewError {
    /// The world's: disk full, I/O error, no permission.
    #[error("the view {path} failed: {reason}")]
    Failed {
        /// The database file.
        path: PathBuf,
        /// The error of SQLite or of the operating system.
        reason: String,
    },
    /// The file is damaged or of another version; [`crate::VaultView::rebuild`] replaces it by an empty view.
    #[error("the view {path} is damaged: {reason}")]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// The finding.
        reason: String,
        /// Whether SQLite finds its pages damaged, or a column has a value that the view never stores. If not, the file merely is
        /// not of the form that this version expects.
        corrupt: bool,
    },
    /// A change that cannot be stored.
    #[error("the view {path} cannot hold {what}")]
    Refused {
        /// The database file.
        path: PathBuf,
        /// The change.
        what: String,
    },
}

impl Coded for ViewError {
    fn code(&self) -> &'static str {
        match self {
            ViewError::Failed { .. } => "view.failed",
            ViewError::Damaged { .. } => "view.damaged",
            ViewError::Refused { .. } => "view.refused",
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            ViewError::Failed { .. } => FAILED_HINT,
            ViewError::Damaged { .. } => DAMAGED_HINT,
            ViewError::Refused { .. } => REFUSED_HINT,
        }
    }
}

impl ViewError {
    /// Returns the database file.
    pub fn path(&self) -> &Path {
        match self {
            ViewError::Failed { path, .. }
            | ViewError::Damaged { path, .. }
            | ViewError::Refused { path, .. } => path,
        }
    }

    /// Returns whether SQLite reports the file as corrupt or as no database. It then answers no queries: see
    /// [`crate::VaultView::condemn`].
    pub fn is_corruption(&self) -> bool {
        matches!(self, ViewError::Damaged { corrupt: true, .. })
    }

    pub(super) fn sqlite(path: &std::path::Path, error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_path_buf();
        let reason = error.to_string();
        // The view's writer stores no number that is out of range.
        let corrupt = matches!(error, rusqlite::Error::IntegralValueOutOfRange(..))
            || matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            );
        let damaged = match &error {
            rusqlite::Error::SqliteFailure(failure, _) => {
                corrupt
                    || matches!(
                        failure.code,
                        ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch
                    )
                    || (failure.code == ErrorCode::Unknown
                        && failure.extended_code == rusqlite::ffi::SQLITE_ERROR)
            }
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::QueryReturnedNoRows => true,
            _ => false,
        };
        if damaged {
            ViewError::Damaged {
                path,
                reason,
                corrupt,
            }
        } else {
            ViewError::Failed { path, reason }
        }
    }
}
