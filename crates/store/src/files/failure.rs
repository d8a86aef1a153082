//! Failures of files, as stable codes.

use std::io;
use std::path::{Path, PathBuf};

use primitives::{Coded, ErrorInfo, Hash};
use thiserror::Error;

use super::sizes::NOTE_BYTES_MAX;

/// The codes of this module.
pub(crate) const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "files.busy",
        cause: "Another transfer is writing to the same part file.",
        action: BUSY_HINT,
    },
    ErrorInfo {
        code: "files.damaged",
        cause: "The file of an attachment is missing, is not a regular file, or has another length or hash than recorded.",
        action: DAMAGED_HINT,
    },
    ErrorInfo {
        code: "files.disk_full",
        cause: "The disk or a quota is full, or the attachment would use the space that the node reserves for its ledger.",
        action: FULL_HINT,
    },
    ErrorInfo {
        code: "files.failed",
        cause: "The file of an attachment could not be read or written. The message contains the path and the error of the operating system.",
        action: FAILED_HINT,
    },
    ErrorInfo {
        code: "files.locked",
        cause: "Another process has this folder of attachments open.",
        action: LOCKED_HINT,
    },
    ErrorInfo {
        code: "files.mismatch",
        cause: "The received bytes do not have the announced hash. They were discarded.",
        action: MISMATCH_HINT,
    },
    ErrorInfo {
        code: "files.note_too_long",
        cause: "The note stored with an incomplete file exceeds its limit.",
        action: NOTE_HINT,
    },
    ErrorInfo {
        code: "files.wrong_size",
        cause: "The number of received bytes differs from the announced size.",
        action: SIZE_HINT,
    },
];

const BUSY_HINT: &str = "Try again when the other transfer of the same file has ended.";
const DAMAGED_HINT: &str = "Restore the file from a backup, or remove the attachment and upload the file again; then check the disk.";
const FULL_HINT: &str =
    "Free disk space, then try again; a transfer that has begun resumes where it stopped.";
const FAILED_HINT: &str =
    "Check the disk and the permissions of the folder; the transfer can be tried again.";
const LOCKED_HINT: &str = "Stop the other process, or give this node a folder of its own.";
const MISMATCH_HINT: &str =
    "Compute the SHA-256 of the file again and send the file from its start.";
const NOTE_HINT: &str = "Give shorter names.";
const SIZE_HINT: &str = "Send exactly as many bytes as announced, or announce no size.";

/// Why an operation on a file failed.
#[derive(Debug, Error)]
pub enum FilesError {
    /// No room.
    #[error("no room for more bytes at {path}")]
    Full {
        /// The folder or file.
        path: PathBuf,
    },
    /// An operation of the file system failed.
    #[error("{doing} {path} failed: {source}")]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Another caller is writing to the part.
    #[error("{path} is being written to")]
    Busy {
        /// The part.
        path: PathBuf,
    },
    /// The hash of the bytes differs from the announced one. The bytes were removed.
    #[error("the bytes have the hash {found}, not {expected}")]
    Mismatch {
        /// The announced hash.
        expected: Hash,
        /// The hash of the bytes.
        found: Hash,
    },
    /// More or fewer bytes than announced. If there are too many, the part is removed. If there are too
    /// few, it stays for the rest to come.
    #[error("received {found} bytes, expected {expected}")]
    WrongSize {
        /// The announced length, in bytes.
        expected: u64,
        /// The received bytes.
        found: u64,
    },
    /// Another process has the folder open.
    #[error("{path} is in use by another process")]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The file at this name is damaged.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The finding.
        reason: &'static str,
    },
    /// A note over its limit.
    #[error("a note of {bytes} bytes, expected at most {NOTE_BYTES_MAX}")]
    NoteTooLong {
        /// Its length.
        bytes: usize,
    },
}

impl FilesError {
    /// Returns whether the bytes differ from the announced ones, which only the sender can have caused.
    #[must_use]
    pub fn is_senders_fault(&self) -> bool {
        matches!(self, Self::Mismatch { .. } | Self::WrongSize { .. })
    }
}

impl Coded for FilesError {
    fn code(&self) -> &'static str {
        match self {
            Self::Full { .. } => "files.disk_full",
            Self::Io { .. } => "files.failed",
            Self::Busy { .. } => "files.busy",
            Self::Mismatch { .. } => "files.mismatch",
            Self::WrongSize { .. } => "files.wrong_size",
            Self::Locked { .. } => "files.locked",
            Self::Damaged { .. } => "files.damaged",
            Self::NoteTooLong { .. } => "files.note_too_long",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

/// Returns a function that makes an error from a file system error. A full disk becomes [`FilesError::Full`].
pub(super) fn io_error<'a>(
    doing: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> FilesError + 'a {
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FilesError::Full {
            path: path.to_path_buf(),
        },
        _ => FilesError::Io {
            doing,
            path: path.to_path_buf(),
            source,
        },
    }
}
