//! Budgets of memory and disk, and the place of the inventory.

use crate::custody::Custody;

/// Budgets of the embedded store. The defaults keep a busy node's store at about 60 MB resident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Blocks of table files kept in memory, in bytes.
    pub cache_bytes: u64,
    /// Rows kept in memory before they are flushed to tables, in bytes, all tables together. While one such set is
    /// flushed the next may grow to the same size.
    pub memtable_bytes: usize,
    /// Length of a log segment, in bytes. Up to three are on disk, up to two are replayed when opening.
    pub log_bytes: u64,
    /// Table files kept open.
    pub open_files: usize,
    /// Where the inventory and the anchor are kept. Without it the inventory is in the store's own directory, and nothing tells a store that is
    /// missing from one that was never made.
    pub custody: Option<Custody>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 8 << 20,
            memtable_bytes: 12 << 20,
            log_bytes: 16 << 20,
            open_files: 128,
            custody: None,
        }
    }
}
