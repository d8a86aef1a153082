//! Counters of the connection to the database, readable at any time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseFigures {
    /// The last commit that the server has confirmed.
    pub confirmed: u64,
    /// The last commit that the server's present rows include.
    pub folded: u64,
    /// Commits whose outcome was unknown or refused, after which the server's head was read.
    pub read_back: u64,
    /// Connections that replaced a lost one.
    pub reconnections: u64,
    /// Rows written to and deleted from the server's present rows.
    pub rows_folded: u64,
    /// The ledger's sequence up to which the vault tables are complete.
    pub vault_upto: u64,
    /// Rows written to the vault tables.
    pub vault_rows: u64,
    /// Failed attempts to write the vault tables.
    pub vault_failures: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) confirmed: AtomicU64,
    pub(crate) folded: AtomicU64,
    pub(crate) read_back: AtomicU64,
    pub(crate) reconnections: AtomicU64,
    pub(crate) rows_folded: AtomicU64,
    pub(crate) vault_upto: AtomicU64,
    pub(crate) vault_rows: AtomicU64,
    pub(crate) vault_failures: AtomicU64,
}

impl Stats {
    pub(crate) fn figures(&self) -> DatabaseFigures {
        DatabaseFigures {
            confirmed: self.confirmed.load(Relaxed),
            folded: self.folded.load(Relaxed),
            read_back: self.read_back.load(Relaxed),
            reconnections: self.reconnections.load(Relaxed),
            rows_folded: self.rows_folded.load(Relaxed),
            vault_upto: self.vault_upto.load(Relaxed),
            vault_rows: self.vault_rows.load(Relaxed),
            vault_failures: self.vault_failures.load(Relaxed),
        }
    }
}
