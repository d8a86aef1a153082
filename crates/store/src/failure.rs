//! Disk failures, as stable codes.

use std::path::{Path, PathBuf};

use primitives::storage::{FailureKind, StoreFailure};
use primitives::{Coded, ErrorInfo};
use thiserror::Error;

/// The codes of the store.
pub(crate) const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "store.failed",
        cause: "A write or a sync failed (full disk, I/O error). Nothing after it was acknowledged, and the store refuses all further writes.",
        action: FAILED_HINT,
    },
    ErrorInfo {
        code: "store.read_failed",
        cause: "A row could not be read: an I/O error, or a table file that fails its checksum.",
        action: READ_HINT,
    },
    ErrorInfo {
        code: "store.copy_failed",
        cause: "A copy of the running store could not be written. The store itself is not affected.",
        action: COPY_HINT,
    },
    ErrorInfo {
        code: "store.bad_row",
        cause: "A key is empty or too long, or a commit is too large.",
        action: BAD_ROW_HINT,
    },
    ErrorInfo {
        code: "store.closed",
        cause: "The store was closed before this write was submitted.",
        action: CLOSED_HINT,
    },
    ErrorInfo {
        code: "store.locked",
        cause: "Another process has this store open.",
        action: LOCKED_HINT,
    },
    ErrorInfo {
        code: "store.newer_version",
        cause: "The store was written by a newer version of this program.",
        action: NEWER_HINT,
    },
    ErrorInfo {
        code: "store.unknown_format",
        cause: "The directory is not a store of this program, or its schema row is unreadable.",
        action: UNKNOWN_HINT,
    },
    ErrorInfo {
        code: "store.corrupt",
        cause: "The store's files fail their checks and were not repaired by recovery.",
        action: CORRUPT_HINT,
    },
    ErrorInfo {
        code: "store.missing",
        cause: "The identity's store is missing in its data folder: the folder was lost or moved, or its disk is not mounted.",
        action: MISSING_HINT,
    },
    ErrorInfo {
        code: "store.incomplete",
        cause: "A file of the store is missing, shorter, or older than the inventory says: starting would lose acknowledged data.",
        action: INCOMPLETE_HINT,
    },
    ErrorInfo {
        code: "store.inventory",
        cause: "The inventory of the store, its mark or its anchor is missing, damaged, or was made under another identity key, so the node cannot check that the store is complete.",
        action: INVENTORY_HINT,
    },
    ErrorInfo {
        code: "store.foreign",
        cause: "The store, its inventory and the anchor next to the identity key do not belong together.",
        action: FOREIGN_HINT,
    },
    ErrorInfo {
        code: "store.not_empty",
        cause: "An empty store cannot be permitted, because the store's folder holds files.",
        action: NOT_EMPTY_HINT,
    },
    ErrorInfo {
        code: "store.open_failed",
        cause: "The directory could not be created, read or written.",
        action: OPEN_HINT,
    },
    ErrorInfo {
        code: "database.damaged",
        cause: "A row of the node's schema on the database server fails its check, or was written by a newer program.",
        action: SERVER_DAMAGED_HINT,
    },
];

const FAILED_HINT: &str =
    "Free disk space or repair the disk, then restart the node; everything acknowledged is kept.";
const READ_HINT: &str =
    "Check the disk (dmesg, smartctl); restore the directory from a backup if a file is damaged.";
const COPY_HINT: &str = "Choose a directory that is empty or does not exist yet, on a disk with enough free space, and copy again.";
const CLOSED_HINT: &str = "Start the node again.";
const BAD_ROW_HINT: &str =
    "Write less in one commit: a key has 1 to 65535 bytes, a commit at most 1 GiB.";
const LOCKED_HINT: &str = "Stop the other process, or give this node a directory of its own.";
const NEWER_HINT: &str =
    "Run the newer version again. A store cannot be converted to an older format.";
const UNKNOWN_HINT: &str =
    "Check the configured directory. To start with an empty store, configure an empty directory.";
const CORRUPT_HINT: &str =
    "Keep a copy of the directory, check the disk, then restore from a backup.";
const MISSING_HINT: &str = "Mount or restore the data folder from the newest backup. To start over with an empty store, run 'tally node init-store' ('tally chain init-store' for a chain).";
const INCOMPLETE_HINT: &str = "Keep a copy of the folder, check the disk, then restore the whole data folder from the newest backup; a single file of a backup does not fit the others.";
const INVENTORY_HINT: &str = "Restore the whole node folder from the newest backup. If only this file was lost and the store is the newest, run 'tally node accept-store' ('tally chain accept-store' for a chain), which checks every byte first.";
const FOREIGN_HINT: &str = "Put the node's own data folder back. If the folder was put there on purpose, run 'tally node accept-store' ('tally chain accept-store' for a chain), which checks every byte first.";
const NOT_EMPTY_HINT: &str =
    "Move the store's folder away first, and keep it: it may be the only copy of the ledger.";
const SERVER_DAMAGED_HINT: &str = "Run the program that wrote the database. If it was no newer one, restore the database from the newest backup.";
const OPEN_HINT: &str =
    "Check that the path exists, is a directory, is writable and has free space.";

/// Why a store could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("{path} is in use by another process")]
    Locked {
        /// The store's directory.
        path: PathBuf,
    },
    /// The store was written by a newer program.
    #[error("{path} has schema version {found}, this program knows {known}")]
    NewerVersion {
        /// The store's directory.
        path: PathBuf,
        /// The version on disk.
        found: u32,
        /// The newest version this program reads.
        known: u32,
    },
    /// The directory is not a store, or a store of an unknown kind.
    #[error("{path} is not a store this program knows: {reason}")]
    UnknownFormat {
        /// The store's directory.
        path: PathBuf,
        /// The finding.
        reason: String,
    },
    /// Files that fail their checks.
    #[error("{path} is damaged: {reason}")]
    Corrupt {
        /// The store's directory or file.
        path: PathBuf,
        /// The finding.
        reason: String,
    },
    /// The identity has a store, but the store's files are missing.
    #[error("there is no store in {path}, but this identity has one")]
    Missing {
        /// The store's directory.
        path: PathBuf,
    },
    /// A file of the store is missing, shorter or older than listed.
    #[error("{path} does not fit the store's inventory: {reason}")]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// The finding.
        reason: String,
    },
    /// The inventory, the mark or the anchor is missing, damaged or not authentic.
    #[error("{path} does not tell whether the store is whole: {reason}")]
    Unlisted {
        /// The file.
        path: PathBuf,
        /// The finding.
        reason: String,
    },
    /// The files belong to different stores.
    #[error("{path} is of another store: {reason}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The finding.
        reason: String,
    },
    /// An empty store cannot be permitted, because the folder holds files.
    #[error("{path} holds files")]
    NotEmpty {
        /// The store's directory.
        path: PathBuf,
    },
    /// An operation of the file system failed.
    #[error("cannot open {path}: {source}")]
    Io {
        /// The store's directory or file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
}

impl OpenError {
    /// Returns whether a retry may succeed without an operator, as after a full disk or a disk that did not answer.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}

impl Coded for OpenError {
    fn code(&self) -> &'static str {
        match self {
            OpenError::Locked { .. } => "store.locked",
            OpenError::NewerVersion { .. } => "store.newer_version",
            OpenError::UnknownFormat { .. } => "store.unknown_format",
            OpenError::Corrupt { .. } => "store.corrupt",
            OpenError::Missing { .. } => "store.missing",
            OpenError::Incomplete { .. } => "store.incomplete",
            OpenError::Unlisted { .. } => "store.inventory",
            OpenError::Foreign { .. } => "store.foreign",
            OpenError::NotEmpty { .. } => "store.not_empty",
            OpenError::Io { .. } => "store.open_failed",
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            OpenError::Locked { .. } => LOCKED_HINT,
            OpenError::NewerVersion { .. } => NEWER_HINT,
            OpenError::UnknownFormat { .. } => UNKNOWN_HINT,
            OpenError::Corrupt { .. } => CORRUPT_HINT,
            OpenError::Missing { .. } => MISSING_HINT,
            OpenError::Incomplete { .. } => INCOMPLETE_HINT,
            OpenError::Unlisted { .. } => INVENTORY_HINT,
            OpenError::Foreign { .. } => FOREIGN_HINT,
            OpenError::NotEmpty { .. } => NOT_EMPTY_HINT,
            OpenError::Io { .. } => OPEN_HINT,
        }
    }
}

/// Returns the failure of a write or sync, after which the store is poisoned.
pub(crate) fn write_failed(path: &Path, reason: impl std::fmt::Display) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Access,
        code: "store.failed",
        message: format!("writing to {} failed: {reason}", path.display()),
        hint: FAILED_HINT,
    }
}

/// Returns the failure of a read.
pub(crate) fn read_failed(path: &Path, reason: impl std::fmt::Display) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Access,
        code: "store.read_failed",
        message: format!("reading from {} failed: {reason}", path.display()),
        hint: READ_HINT,
    }
}

/// Returns the failure of a copy of the store.
pub(crate) fn copy_failed(to: &Path, reason: impl std::fmt::Display) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Access,
        code: "store.copy_failed",
        message: format!("copying the store to {} failed: {reason}", to.display()),
        hint: COPY_HINT,
    }
}

/// Returns the failure for a row that cannot be stored. Nothing was written.
pub(crate) fn bad_row(what: String) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Access,
        code: "store.bad_row",
        message: format!("the store cannot hold {what}"),
        hint: BAD_ROW_HINT,
    }
}

/// Returns the failure of reading a commit that the database server keeps.
pub(crate) fn server_damaged(reason: String) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Damage,
        code: "database.damaged",
        message: format!("the database holds a commit that cannot be read: {reason}"),
        hint: SERVER_DAMAGED_HINT,
    }
}

/// Returns the failure for a submission to a stopped committer.
pub(crate) fn closed(path: &Path) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Access,
        code: "store.closed",
        message: format!("the store at {} is closed", path.display()),
        hint: CLOSED_HINT,
    }
}
