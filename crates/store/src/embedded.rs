//! The embedded store: a write-ahead log, rows in memory, and one sorted table on disk for each table of the port.
//!
//! ```text
//! write ──► log record ──► fdatasync ──► memory ──► (acknowledged, visible)
//!                                          │ when memory or the log segment is full
//!                                          ▼
//!                     flush: sorted tables, synced ──► log segments retired, their slots reused
//! ```
//!
//! Tables come in two kinds. *Stored* tables (the ledger, its index, the notary's) are flushed. *Resident* ones (flow
//! journals, outbox, deliveries) hold rows that are soon deleted: they stay in memory, what is left of them is repeated
//! at the head of each new log segment, and only a backlog is flushed. A row that is inserted and deleted between two
//! flushes therefore costs two log entries and never reaches a table.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kernel::port::{Reads, StoreFailure, Table, WriteBatch};
use lsm_tree::{Cache, DescriptorTable};

use crate::background::{Background, FlushJob};
use crate::directory::{self, Directory};
use crate::failure::{OpenError, bad_row, read_failed, write_failed};
use crate::log::{KEY_BYTES_MAX, Log, LogError, PAYLOAD_BYTES_MAX, Record, Row};
use crate::memory::{Known, Memory, RowOrDeletion};
use crate::options::Options;
use crate::sorted::Sorted;

/// A record buffer above this is given back after its commit.
const RECORD_KEEP_BYTES: usize = 4 << 20;

/// An open store; cheap to clone. Reads go here, writes through a [`crate::Committer`].
#[derive(Clone)]
pub struct Embedded {
    running: Arc<Running>,
}

/// How long the parts of a write took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteTimes {
    /// Waiting for a flush, and starting one.
    pub room: Duration,
    /// Encoding and appending the record.
    pub append: Duration,
    /// The sync.
    pub sync: Duration,
    /// Making the rows visible.
    pub apply: Duration,
}

struct Running {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

pub(crate) struct Shared {
    pub(crate) directory: Directory,
    pub(crate) options: Options,
    pub(crate) tables: Vec<TableStore>,
    pub(crate) background: Background,
    writer: Mutex<Writer>,
    poison: OnceLock<StoreFailure>,
}

pub(crate) struct TableStore {
    pub(crate) memory: RwLock<Memory>,
    pub(crate) sorted: Sorted,
    pub(crate) resident: bool,
}

struct Writer {
    log: Log,
    record: Record,
}

impl Embedded {
    /// Opens the store in `path`, creating it where there is none, and recovers everything acknowledged.
    pub fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let directory = Directory::open(path)?;
        let cache = Arc::new(Cache::with_capacity_bytes(options.cache_bytes));
        let files = Arc::new(DescriptorTable::new(options.open_files.max(16)));
        let tables = Table::ALL
            .iter()
            .map(|table| TableStore::open(&directory.tables(), *table, &cache, &files))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| tree_open_error(path, error))?;
        directory::sync_directory(&directory.tables()).map_err(|source| OpenError::Io {
            path: directory.tables(),
            source,
        })?;
        let log = Log::open(&directory.log(), &mut |row| {
            tables[row.table as usize]
                .apply(vec![(row.key.to_vec(), row.value.map(<[u8]>::to_vec))]);
        })
        .map_err(|error| log_open_error(path, error))?;
        if log.is_new() && tables.iter().any(|table| !table.sorted.is_empty()) {
            return Err(OpenError::Corrupt {
                path: directory.log(),
                reason: "there are tables but no log".into(),
            });
        }
        let shared = Arc::new(Shared {
            directory,
            options: options.clone(),
            tables,
            background: Background::default(),
            writer: Mutex::new(Writer {
                log,
                record: Record::default(),
            }),
            poison: OnceLock::new(),
        });
        let threads = Background::start(&shared).map_err(|source| OpenError::Io {
            path: path.to_path_buf(),
            source,
        })?;
        Ok(Self {
            running: Arc::new(Running { shared, threads }),
        })
    }

    /// The store's directory.
    pub fn path(&self) -> &Path {
        self.running.shared.directory.path()
    }

    /// Why the store refuses writes, once it does.
    pub fn failure(&self) -> Option<StoreFailure> {
        self.running.shared.poison.get().cloned()
    }

    /// Bytes on disk of all files of the store.
    pub fn disk_bytes(&self) -> u64 {
        directory::disk_bytes(self.path())
    }

    /// Bytes of rows in memory, by estimate.
    pub fn memory_bytes(&self) -> usize {
        let tables = &self.running.shared.tables;
        tables.iter().map(|table| table.read().active_bytes()).sum()
    }

    /// Writes batches as one atomic, durable unit, later rows winning. After a failure every further call fails.
    ///
    /// This is the committer's entrance; call it directly only in tools and tests.
    pub fn write(&self, batches: Vec<WriteBatch>) -> Result<WriteTimes, StoreFailure> {
        check(&batches)?;
        let shared = &self.running.shared;
        let mut writer = shared.lock_writer();
        if let Some(failure) = shared.poison.get() {
            return Err(failure.clone());
        }
        shared
            .write(&mut writer, batches)
            .map_err(|reason| shared.poisoned(reason))
    }

    /// Flushes everything that is flushed at all, merges, and waits for it. For tools and tests; the store does both by
    /// itself when it is time.
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

impl Shared {
    fn lock_writer(&self) -> MutexGuard<'_, Writer> {
        // A writer that panicked half-way may have left anything behind: refuse writes.
        self.writer.lock().unwrap_or_else(|panicked| {
            self.poisoned("the writer panicked".into());
            panicked.into_inner()
        })
    }

    /// Refuses writes from now on; the first reason stays.
    pub(crate) fn poisoned(&self, reason: String) -> StoreFailure {
        let failure = write_failed(self.directory.path(), reason);
        self.poison.get_or_init(|| failure).clone()
    }

    fn write(&self, writer: &mut Writer, batches: Vec<WriteBatch>) -> Result<WriteTimes, String> {
        let mut times = WriteTimes::default();
        let started = Instant::now();
        self.make_room(writer)?;
        let made_room = Instant::now();
        writer.record.clear();
        for write in batches.iter().flat_map(|batch| &batch.writes) {
            writer.record.push(Row {
                table: write.table,
                key: &write.key,
                value: write.value.as_deref(),
            });
        }
        writer.log.append(&mut writer.record).map_err(describe)?;
        let appended = Instant::now();
        writer.log.sync().map_err(describe)?;
        let synced = Instant::now();
        self.apply(batches);
        writer.record.shrink(RECORD_KEEP_BYTES);
        times.room = made_room - started;
        times.append = appended - made_room;
        times.sync = synced - appended;
        times.apply = synced.elapsed();
        Ok(times)
    }

    fn apply(&self, batches: Vec<WriteBatch>) {
        let mut by_table: [Vec<RowOrDeletion>; Table::ALL.len()] = Default::default();
        for write in batches.into_iter().flat_map(|batch| batch.writes) {
            by_table[write.table as usize].push((write.key, write.value));
        }
        for (table, rows) in self.tables.iter().zip(by_table) {
            if !rows.is_empty() {
                table.apply(rows);
            }
        }
    }

    /// Starts a flush when memory or the log segment is full. While the last flush still runs both may grow to twice
    /// their budget; then the writer waits.
    fn make_room(&self, writer: &mut Writer) -> Result<(), String> {
        let log = writer.log.active_bytes();
        let stored = self.tables.iter().filter(|table| !table.resident);
        let memory: usize = stored.map(|table| table.read().active_bytes()).sum();
        let over = |times: usize| {
            log >= self.options.log_bytes.saturating_mul(times as u64)
                || memory >= self.options.memtable_bytes.saturating_mul(times)
        };
        if !over(1) || (self.background.is_flushing() && !over(2)) {
            return Ok(());
        }
        self.background.wait_flushed()?;
        self.rotate(writer)
    }

    /// Starts a new log segment, with the resident rows at its head, and hands everything older to the flush thread.
    fn rotate(&self, writer: &mut Writer) -> Result<(), String> {
        let (slots, last_id) = self.background.take_slots();
        writer.log.reuse(slots, last_id);
        let spilled = self.choose_spilled();
        writer.record.clear();
        for (table, store) in Table::ALL.iter().zip(&self.tables) {
            if !store.resident || spilled.contains(table) {
                continue;
            }
            let mut memory = store.write();
            if store.sorted.is_empty() {
                memory.forget_tombstones();
            }
            for (key, value) in memory.active() {
                writer.record.push(Row {
                    table: *table,
                    key,
                    value: value.as_deref(),
                });
            }
        }
        writer.log.rotate().map_err(describe)?;
        writer.log.append(&mut writer.record).map_err(describe)?;
        writer.log.sync().map_err(describe)?;
        let mut flushed = Vec::new();
        for (table, store) in Table::ALL.iter().zip(&self.tables) {
            if !store.resident || spilled.contains(table) {
                store.write().freeze();
                flushed.push(*table);
            }
        }
        self.background.flush(FlushJob {
            tables: flushed,
            segments: writer.log.take_sealed(),
        });
        Ok(())
    }

    /// Resident tables to flush after all: the largest, while together they would fill more than a quarter of a log
    /// segment, and those whose deletions are worth a merge.
    fn choose_spilled(&self) -> Vec<Table> {
        let mut sizes: Vec<(usize, Table)> = Vec::new();
        let mut spilled = Vec::new();
        for (table, store) in Table::ALL
            .iter()
            .zip(&self.tables)
            .filter(|(_, store)| store.resident)
        {
            let memory = store.read();
            let many = !store.sorted.is_empty()
                && memory.tombstones() * 2 >= store.sorted.rows_approximate();
            if many {
                spilled.push(*table);
            } else {
                sizes.push((memory.active_bytes(), *table));
            }
        }
        sizes.sort();
        let mut total: usize = sizes.iter().map(|(bytes, _)| bytes).sum();
        while total as u64 > self.options.log_bytes / 4
            && let Some((bytes, table)) = sizes.pop()
        {
            total -= bytes;
            spilled.push(table);
        }
        spilled
    }
}

impl TableStore {
    fn open(
        folder: &Path,
        table: Table,
        cache: &Arc<Cache>,
        files: &Arc<DescriptorTable>,
    ) -> lsm_tree::Result<Self> {
        Ok(Self {
            memory: RwLock::default(),
            sorted: Sorted::open(folder, table, cache, files)?,
            resident: matches!(
                table,
                Table::Meta | Table::Journal | Table::Outbox | Table::Deliveries | Table::Staging
            ),
        })
    }

    pub(crate) fn read(&self) -> std::sync::RwLockReadGuard<'_, Memory> {
        // Every method of Memory leaves it whole.
        self.memory
            .read()
            .unwrap_or_else(|panicked| panicked.into_inner())
    }

    pub(crate) fn write(&self) -> std::sync::RwLockWriteGuard<'_, Memory> {
        self.memory
            .write()
            .unwrap_or_else(|panicked| panicked.into_inner())
    }

    /// # Correctness
    /// Whether the sorted table is empty is asked under the lock that the flush thread takes after it has added rows.
    fn apply(&self, rows: Vec<RowOrDeletion>) {
        let mut memory = self.write();
        let mut is_empty = None;
        for (key, value) in rows {
            let is_empty =
                value.is_none() && *is_empty.get_or_insert_with(|| self.sorted.is_empty());
            memory.write(key, value, is_empty);
        }
    }
}

impl Reads for Embedded {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        let store = self.table(table);
        let known = store.read().get(key);
        match known {
            Known::Row(row) => Ok(row),
            Known::Nothing => store
                .sorted
                .get(key)
                .map_err(|error| self.read_error(table, error)),
        }
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StoreFailure> {
        if to.is_some_and(|to| to <= from) {
            return Ok(Vec::new());
        }
        let store = self.table(table);
        let memory = store.read().range(from, to, limit);
        if store.sorted.is_empty() && store.read().frozen().is_none() {
            return Ok(live(memory));
        }
        merge(memory, store.sorted.range(from, to), limit, |a, b| a <= b)
            .map_err(|error| self.read_error(table, error))
    }

    fn last(&self, table: Table) -> Result<Option<(Vec<u8>, Vec<u8>)>, StoreFailure> {
        let store = self.table(table);
        let memory = store.read().last();
        let rows = merge(memory, store.sorted.descending(), 1, |a, b| a >= b);
        Ok(rows.map_err(|error| self.read_error(table, error))?.pop())
    }
}

impl Embedded {
    fn table(&self, table: Table) -> &TableStore {
        &self.running.shared.tables[table as usize]
    }

    fn read_error(&self, table: Table, error: lsm_tree::Error) -> StoreFailure {
        let path = self.running.shared.directory.tables().join(table.name());
        read_failed(&path, describe_tree(&error))
    }
}

type Live = (Vec<u8>, Vec<u8>);

fn live(rows: Vec<RowOrDeletion>) -> Vec<Live> {
    rows.into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

/// Rows of memory over rows of the sorted table. Memory holds at least `limit` rows or all it has.
fn merge(
    memory: Vec<RowOrDeletion>,
    sorted: impl Iterator<Item = lsm_tree::Result<Live>>,
    limit: usize,
    is_first: fn(&[u8], &[u8]) -> bool,
) -> lsm_tree::Result<Vec<Live>> {
    let mut found = Vec::new();
    let mut memory = memory.into_iter().peekable();
    let mut sorted = sorted.peekable();
    while found.len() < limit {
        let from_memory = match (memory.peek(), sorted.peek()) {
            (None, None) => break,
            (Some(_), None) => true,
            (None, Some(_)) | (Some(_), Some(Err(_))) => false,
            (Some((key, _)), Some(Ok((other, _)))) => {
                if key == other {
                    sorted.next();
                    true
                } else {
                    is_first(key, other)
                }
            }
        };
        if from_memory {
            if let Some((key, Some(value))) = memory.next() {
                found.push((key, value));
            }
        } else if let Some(row) = sorted.next() {
            found.push(row?);
        }
    }
    Ok(found)
}

/// Refuses what cannot be stored, before anything is written; the store is not harmed.
pub(crate) fn check(batches: &[WriteBatch]) -> Result<(), StoreFailure> {
    let mut bytes = 0usize;
    for write in batches.iter().flat_map(|batch| &batch.writes) {
        if write.key.is_empty() || write.key.len() > KEY_BYTES_MAX {
            return Err(bad_row(format!(
                "a key of {} bytes in {}",
                write.key.len(),
                write.table.name()
            )));
        }
        bytes =
            bytes.saturating_add(write.key.len() + write.value.as_ref().map_or(0, Vec::len) + 8);
    }
    if bytes > PAYLOAD_BYTES_MAX {
        return Err(bad_row(format!("a commit of {bytes} bytes")));
    }
    Ok(())
}

fn describe(error: std::io::Error) -> String {
    error.to_string()
}

/// A tree's error without its type's name where the system's own words are known.
pub(crate) fn describe_tree(error: &lsm_tree::Error) -> String {
    match error {
        lsm_tree::Error::Io(source) => source.to_string(),
        error => error.to_string(),
    }
}

fn tree_open_error(path: &Path, error: lsm_tree::Error) -> OpenError {
    let path = path.to_path_buf();
    match error {
        lsm_tree::Error::Io(source) => OpenError::Io { path, source },
        error => OpenError::Corrupt {
            path,
            reason: error.to_string(),
        },
    }
}

fn log_open_error(store: &Path, error: LogError) -> OpenError {
    match error {
        LogError::Io { path, source } => OpenError::Io { path, source },
        LogError::Damaged { path, reason } => OpenError::Corrupt { path, reason },
        LogError::OtherVersion { path, found } => OpenError::UnknownFormat {
            path: store.to_path_buf(),
            reason: format!("{} has log version {found}", path.display()),
        },
    }
}
