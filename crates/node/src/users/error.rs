//! Faults of `users.toml`.

use std::path::PathBuf;

use primitives::{Coded, ErrorInfo};
use thiserror::Error;

/// See the variants.
#[derive(Debug, Error)]
pub enum UsersError {
    /// A file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// There is no `users.toml`, or nothing is in it.
    #[error("{path} is missing or empty, so the list of users is unknown")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// There is a `users.toml` already.
    #[error("{path} exists, so no empty list is written")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The content of the file is invalid.
    #[error("{path}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The fault, with the line.
        message: String,
    },
    /// The file can be read or changed by others.
    #[error("{path} is open to others (mode {mode:o})")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

/// The audit log is gone.
pub const AUDIT_LOST: ErrorInfo = ErrorInfo {
    code: "users.audit_lost",
    cause: "The file audit.log is not the one of the last start, or is shorter: it was deleted, emptied, cut, moved or replaced. The log goes on in the file that is there, or in a new one.",
    action: "Restore the lost file next to the new one, and find out how it was lost. The warning ends with the next start.",
};

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    AUDIT_LOST,
    ErrorInfo {
        code: "users.file",
        cause: "A file of the node's users, or the audit log, can't be read or written.",
        action: "Check the permissions of the node's folder and the space on its disk.",
    },
    ErrorInfo {
        code: "users.missing",
        cause: "The file users.toml is not in the node's folder, or nothing is in it: it was deleted or emptied, or the folder is older than the rule that it must exist. A node does not take that for an empty list, which has a first line.",
        action: "Restore users.toml from a backup, or start with no users at all: tally user init --node DIR.",
    },
    ErrorInfo {
        code: "users.exists",
        cause: "An empty list of users was to be written where there is a users.toml.",
        action: "Remove users one by one with 'tally user remove', or move users.toml away first.",
    },
    ErrorInfo {
        code: "users.invalid",
        cause: "The file users.toml is not TOML, or an entry in it is wrong.",
        action: "Correct the line that the message names, or manage users with 'tally user'; docs/reference/users.md describes the file.",
    },
    ErrorInfo {
        code: "users.exposed",
        cause: "The file users.toml can be read or changed by other users of the machine.",
        action: "Take the others' permissions away: chmod 600 users.toml.",
    },
];

impl UsersError {
    /// The code with its cause and action.
    pub(crate) fn info(&self) -> ErrorInfo {
        let info = ERRORS.iter().find(|info| info.code == self.code());
        *info.expect("every code of this module is listed")
    }
}

impl Coded for UsersError {
    fn code(&self) -> &'static str {
        match self {
            UsersError::File { .. } => "users.file",
            UsersError::Missing { .. } => "users.missing",
            UsersError::Exists { .. } => "users.exists",
            UsersError::Invalid { .. } => "users.invalid",
            UsersError::Exposed { .. } => "users.exposed",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}
