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
}

#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) confirmed: AtomicU64,
    pub(crate) folded: AtomicU64,
    pub(crate) read_back: AtomicU64,
    pub(crate) reconnections: AtomicU64,
    pub(crate) rows_folded: AtomicU64,
}

impl Stats {
    pub(crate) fn figures(&self) -> DatabaseFigures {
        DatabaseFigures {
            confirmed: self.confirmed.load(Relaxed),
            folded: self.folded.load(Relaxed),
            read_back: self.read_back.load(Relaxed),
            reconnections: self.reconnections.load(Relaxed),
            rows_folded: self.rows_folded.load(Relaxed),
        }
    }
}
