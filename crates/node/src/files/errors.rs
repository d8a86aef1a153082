//! The codes of fetching files.

use primitives::ErrorInfo;

/// A row without its file.
pub(super) const LOST: &str = "file.lost";
/// A peer that misbehaves about files.
pub(super) const PEER_FAULT: &str = "file.peer_fault";

/// A row without its file.
pub(crate) fn lost() -> ErrorInfo {
    let info = ERRORS.iter().find(|info| info.code == LOST);
    *info.expect("it is listed below")
}

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "file.lost",
        cause: "The ledger says that an attachment is here, but its file is not in the folder of attachments.",
        action: "Put the file back from a backup: its name is its SHA-256, in a folder named by the first two digits.",
    },
    ErrorInfo {
        code: "file.peer_fault",
        cause: "Another node sent invalid messages about files, or bytes that were not requested. They were dropped.",
        action: "Ask the operator of that node which software it runs; the log names it.",
    },
];
