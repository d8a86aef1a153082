//! Budgets of memory and disk, and the place of the inventory.

use crate::custody::Custody;
use crate::log::PAYLOAD_BYTES_MAX;

/// Largest length of a log segment that a configuration may ask for, in bytes. The active segment grows to twice its length while a flush
/// runs, and opening the store reads its unused end into memory.
pub const LOG_BYTES_MAX: u64 = 1 << 30;

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
    /// Largest record of the log, in bytes: one commit, or the resident rows at the head of a segment. A value above 1 GiB, the longest record
    /// that a reader accepts, counts as 1 GiB.
    pub commit_bytes_max: usize,
    /// Table files kept open.
    pub open_files: usize,
    /// The folders of the inventory and the anchor. Without it the inventory is in the store's own directory, and nothing tells a store that is
    /// missing from one that was never made.
    pub custody: Option<Custody>,
    /// Whether each commit is synced. `false` only for the cache of a database server: if the machine crashes, the cache may lose its newest
    /// commits or be damaged, and is then completed or made anew from the server.
    pub sync_commits: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 8 << 20,
            memtable_bytes: 12 << 20,
            log_bytes: 16 << 20,
            commit_bytes_max: PAYLOAD_BYTES_MAX,
            open_files: 128,
            custody: None,
            sync_commits: true,
        }
    }
}
