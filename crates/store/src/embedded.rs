//! The embedded store: a write-ahead log, rows in memory, and one sorted table on disk for each table of the port.
//!
//! ```text
//! write ──► log record ──► fdatasync ──► memory ──► (acknowledged, visible)
//!                                          │ when memory or the log segment is full
//!                                          ▼
//!                     flush: sorted tables, synced ──► log segments retired, their slots reused
//! ```
//!
//! Tables come in two kinds. *Stored* tables (the ledger, its index, the notary's) are flushed. *Resident* ones (flow journals,
//! outbox, deliveries), which have the habit [`Habit::Passing`], hold rows that are soon deleted. They stay in memory, their
//! remaining rows are repeated at the head of each new log segment, and only a backlog is flushed. A row that is inserted and
//! deleted between two flushes therefore costs two log entries and never reaches a table.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use lsm_tree::{Cache, DescriptorTable};
#[cfg(doc)]
use primitives::storage::Habit;
use primitives::storage::{Reads, Row, StoreFailure, TableSet, WriteBatch};

use crate::background::Background;
use crate::custody::{Admitted, Keeper, StoreId, admit};
use crate::directory::{self, Directory};
use crate::failure::{OpenError, read_failed};
use crate::log::{Log, LogError, PAYLOAD_BYTES_MAX, Record, list_slots};
use crate::options::Options;
use crate::shared::{StoreState, WriteTimes, Writer, check};
use crate::sorted::describe_tree;
use crate::table::TableStore;
use crate::threads;

/// An open store of the tables `T`; cheap to clone. Reads go here, writes through a [`crate::Committer`].
#[derive(Clone)]
pub struct Embedded<T: TableSet> {
    running: Arc<Running>,
    tables: PhantomData<T>,
}

/// The cache of blocks of table files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCacheFigures {
    /// Bytes held now.
    pub bytes: u64,
    /// Bytes held at most.
    pub budget_bytes: u64,
    /// Blocks found in it since the store was opened.
    pub hits: u64,
    /// Blocks read from files since the store was opened.
    pub misses: u64,
}

struct Running {
    cache: Arc<Cache>,
    shared: Arc<StoreState>,
    threads: Vec<JoinHandle<()>>,
}

impl<T: TableSet> Embedded<T> {
    /// Opens the store in `path` and recovers all acknowledged writes. Creates the store if there is none.
    pub fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let names: Vec<&str> = T::ALL.iter().map(|table| table.name()).collect();
        let Admitted {
            directory,
            keeper,
            sequence,
        } = admit(path, T::TITLE, &names, options.custody.as_ref())?;
        let cache = Arc::new(Cache::with_capacity_bytes(options.cache_bytes));
        let files = Arc::new(DescriptorTable::new(options.open_files.max(16)));
        let tables = T::ALL
            .iter()
            .map(|table| {
                let folder = directory.tables();
                TableStore::open(&folder, table.name(), table.habit(), &cache, &files)
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| tree_open_error(path, error))?;
        directory::sync_directory(&directory.tables()).map_err(|source| OpenError::Io {
            path: directory.tables(),
            source,
        })?;
        let log = Log::open(&directory.log(), sequence, &mut |row| {
            let table = tables.get(usize::from(row.table));
            if let Some(table) = table {
                table.apply(vec![(row.key.to_vec(), row.value.map(<[u8]>::to_vec))]);
            }
            table.is_some()
        })
        .map_err(|error| log_open_error(path, error))?;
        refuse_tables_alone(log.is_new(), &tables, &directory.log())?;
        settle(&keeper, &directory, &tables, &log)?;
        let shared = Arc::new(StoreState {
            keeper,
            directory,
            options: Options {
                commit_bytes_max: options.commit_bytes_max.min(PAYLOAD_BYTES_MAX),
                ..options.clone()
            },
            tables,
            background: Background::default(),
            writer: Mutex::new(Writer {
                log,
                record: Record::new(options.commit_bytes_max),
            }),
            poison: OnceLock::new(),
        });
        let threads = threads::start(&shared).map_err(|source| OpenError::Io {
            path: path.to_path_buf(),
            source,
        })?;
        Ok(Self {
            running: Arc::new(Running {
                cache,
                shared,
                threads,
            }),
            tables: PhantomData,
        })
    }

    /// Returns the store's directory.
    pub fn path(&self) -> &Path {
        self.running.shared.directory.path()
    }

    /// Returns the store's id.
    pub fn store_id(&self) -> StoreId {
        self.running.shared.keeper.store()
    }

    /// Returns the reason if the store refuses writes.
    pub fn failure(&self) -> Option<StoreFailure> {
        self.running.shared.poison.get().cloned()
    }

    /// Returns the bytes on disk of all files of the store.
    pub fn disk_bytes(&self) -> u64 {
        directory::disk_bytes(self.path())
    }

    /// Returns the cache of blocks, for the metrics.
    pub fn block_cache(&self) -> BlockCacheFigures {
        let Running { cache, shared, .. } = &*self.running;
        let mut figures = BlockCacheFigures {
            bytes: cache.size(),
            budget_bytes: cache.capacity(),
            ..BlockCacheFigures::default()
        };
        for table in &shared.tables {
            let (hits, misses) = table.sorted.block_loads();
            figures.hits += hits;
            figures.misses += misses;
        }
        figures
    }

    /// Returns the estimated bytes of the rows in memory.
    pub fn memory_bytes(&self) -> usize {
        let tables = &self.running.shared.tables;
        tables.iter().map(|table| table.read().active_bytes()).sum()
    }

    /// Writes batches as one atomic, durable unit, later rows winning. After a failure every further call fails.
    ///
    /// The committer calls it. Call it directly only in tools and tests.
    pub fn write(&self, batches: Vec<WriteBatch<T>>) -> Result<WriteTimes, StoreFailure> {
        let shared = &self.running.shared;
        check(&batches, shared.options.commit_bytes_max)?;
        let mut writer = shared.lock_writer();
        if let Some(failure) = shared.poison.get() {
            return Err(failure.clone());
        }
        shared
            .write(&mut writer, batches)
            .map_err(|reason| shared.poisoned(reason))
    }

    /// Flushes all stored tables, merges, and waits for both. For tools and tests; a running store starts both when they are
    /// needed.
    pub fn flush(&self) -> Result<(), StoreFailure> {
        let shared = &self.running.shared;
        let mut writer = shared.lock_writer();
        if let Some(failure) = shared.poison.get() {
            return Err(failure.clone());
        }
        shared
            .background
            .wait_flushed()
            .and_then(|()| shared.rotate(&mut writer))
            .and_then(|()| shared.background.wait_settled())
            .map_err(|reason| shared.poisoned(reason))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.background.stop();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the store panicked");
            }
        }
    }
}

impl<T: TableSet> Reads<T> for Embedded<T> {
    fn get(&self, table: T, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        let row = self.table(table).get(key);
        row.map_err(|error| self.read_error(table, error))
    }

    fn scan(
        &self,
        table: T,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreFailure> {
        let rows = self.table(table).scan(from, to, limit);
        rows.map_err(|error| self.read_error(table, error))
    }

    fn last(&self, table: T) -> Result<Option<Row>, StoreFailure> {
        let row = self.table(table).last();
        row.map_err(|error| self.read_error(table, error))
    }
}

impl<T: TableSet> Embedded<T> {
    pub(crate) fn shared(&self) -> &StoreState {
        &self.running.shared
    }

    fn table(&self, table: T) -> &TableStore {
        &self.running.shared.tables[usize::from(table.number())]
    }

    fn read_error(&self, table: T, error: lsm_tree::Error) -> StoreFailure {
        let path = self.running.shared.directory.tables().join(table.name());
        read_failed(&path, describe_tree(&error))
    }
}

/// Writes an inventory of all files, after all of them were opened.
fn settle(
    keeper: &Keeper,
    directory: &Directory,
    tables: &[TableStore],
    log: &Log,
) -> Result<(), OpenError> {
    let path = directory.path();
    let unwritten = |reason: String| OpenError::Io {
        path: path.to_path_buf(),
        source: std::io::Error::other(reason),
    };
    let slots = list_slots(&directory.log()).map_err(|error| log_open_error(path, error))?;
    let mut found = Vec::new();
    for table in tables {
        let listing = table
            .sorted
            .describe(None)
            .map_err(|source| OpenError::Io {
                path: table.sorted.path.clone(),
                source,
            })?;
        found.extend(listing.map(|listing| (table.name.clone(), listing)));
    }
    keeper.note(log.last_sequence()).map_err(unwritten)?;
    let settled = keeper.settle(|listing| {
        listing.slots = slots;
        listing.tables.extend(found);
    });
    settled.map_err(unwritten)
}

/// Refuses tables with rows if the log never had a record.
pub(crate) fn refuse_tables_alone(
    is_log_new: bool,
    tables: &[TableStore],
    log: &Path,
) -> Result<(), OpenError> {
    if is_log_new && tables.iter().any(|table| !table.sorted.is_empty()) {
        return Err(OpenError::Corrupt {
            path: log.to_path_buf(),
            reason: "there are tables but no log".into(),
        });
    }
    Ok(())
}

pub(crate) fn tree_open_error(path: &Path, error: lsm_tree::Error) -> OpenError {
    let path = path.to_path_buf();
    match error {
        lsm_tree::Error::Io(source) => OpenError::Io { path, source },
        error => OpenError::Corrupt {
            path,
            reason: error.to_string(),
        },
    }
}

pub(crate) fn log_open_error(store: &Path, error: LogError) -> OpenError {
    match error {
        LogError::Io { path, source } => OpenError::Io { path, source },
        LogError::Damaged { path, reason } => OpenError::Corrupt { path, reason },
        LogError::Cut { path, last, reach } => OpenError::Incomplete {
            path,
            reason: format!("the log ends at record {last}, but record {reach} was acknowledged"),
        },
        LogError::OtherVersion { path, found } => OpenError::UnknownFormat {
            path: store.to_path_buf(),
            reason: format!("{} has log version {found}", path.display()),
        },
    }
}
