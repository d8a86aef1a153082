//! What the store may use of memory and disk.

/// Budgets of the embedded store. The defaults keep a busy node's store under about 50 MiB resident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Block cache, in bytes.
    pub cache_bytes: u64,
    /// Rows kept in memory before they are written to tables, for each of the large tables, in bytes.
    pub memtable_bytes: u64,
    /// Journal files kept before the tables that pin them are flushed, in bytes.
    pub journal_bytes: u64,
    /// Threads that flush and compact.
    pub worker_threads: usize,
    /// Table files kept open.
    pub open_files: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 8 << 20,
            memtable_bytes: 4 << 20,
            journal_bytes: 64 << 20,
            worker_threads: 1,
            open_files: 128,
        }
    }
}
