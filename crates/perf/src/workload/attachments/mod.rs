//! Work with attachments: making mock files, and transactions that refer to one.
//!
//! A file's content follows from the scenario's seed and its number alone, so the audit knows every hash without asking
//! the node that received the file. `mock` makes files, and `depot` moves them over a node's API. `stored` is
//! a file that the sending bank has. `make` and `transfer` are the kinds of work. `cache` decides whether a transfer reads the disk. `whole` is the audit of files.

mod cache;
mod depot;
mod make;
mod mock;
mod stored;
mod transfer;
mod whole;

use super::Workloads;

pub use mock::{MockFile, MockReader, MockSizes};
pub(super) use whole::check_files;

/// Registers the kinds of work with attachments.
pub(super) fn register(workloads: &mut Workloads) {
    for (kind, about, make) in [make::REGISTERED, transfer::REGISTERED] {
        workloads.register(kind, about, make);
    }
}

#[cfg(test)]
mod tests;
