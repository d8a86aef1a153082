//! Files that nodes fetch from each other: the shell around [`transfer`]. The bytes never pass through the kernel.
//!
//! ```text
//!  peers ──net, lane 3──► desk ──► transfer thread ──► disk workers ──► store::Files
//!  kernel ──FetchFile …──►  ▲            │    ▲             │
//!     ▲                     └────────────┼────┴── answers ──┘
//!     └── FileArrived, FilePermit … ◄────┴──► net, lane 3
//! ```
//! One thread decides which parts are requested next, within budgets. Workers read, write and hash. One worker does all work on
//! one file, so this work is done in order. The kernel alone decides which parties may have a file.

mod claims;
mod desk;
mod figures;
mod start;
mod thread;
mod upkeep;
mod workers;

pub(crate) use desk::{Desk, FILES_LANE};
pub(crate) use figures::show;
pub(crate) use start::{Running, Shell, start};
pub(crate) use upkeep::UpkeepOptions;
pub(crate) use workers::remove_without_row;

use primitives::ErrorInfo;

/// A row without its file.
const LOST: &str = "file.lost";
/// A peer that misbehaves about files.
const PEER_FAULT: &str = "file.peer_fault";

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
