//! State shared by the store's handles and threads: the write path from log to memory, and the start of flushes.

use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use primitives::storage::{StoreFailure, TableSet, WriteBatch};

use crate::background::{Background, FlushJob};
use crate::custody::{Keeper, SlotListing, TableListing};
use crate::directory::Directory;
use crate::failure::{bad_row, write_failed};
use crate::log::{KEY_BYTES_MAX, Log, ROW_PREFIX_BYTES, Record, Row};
use crate::memory::RowOrDeletion;
use crate::options::Options;
use crate::table::TableStore;

/// The durations of the steps of a write.
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

/// Buffer size, in bytes, above which the record buffer is freed after its commit.
const RECORD_KEEP_BYTES: usize = 4 << 20;

pub(crate) struct StoreState {
    pub(crate) directory: Directory,
    pub(crate) options: Options,
    /// The tables by their numbers.
    pub(crate) tables: Vec<TableStore>,
    pub(crate) background: Background,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) poison: OnceLock<StoreFailure>,
    pub(crate) keeper: Keeper,
}

/// The log and the buffer of its next record. The holder of the lock on it is the only writer.
pub(crate) struct Writer {
    pub(crate) log: Log,
    pub(crate) record: Record,
}

impl StoreState {
    pub(crate) fn lock_writer(&self) -> MutexGuard<'_, Writer> {
        // A writer that panicked may have left an incomplete record. Refuses all later writes.
        self.writer.lock().unwrap_or_else(|panicked| {
            self.poisoned("the writer panicked".into());
            panicked.into_inner()
        })
    }

    /// Makes the store refuse all further writes. Keeps the first reason.
    pub(crate) fn poisoned(&self, reason: String) -> StoreFailure {
        let failure = write_failed(self.directory.path(), reason);
        self.poison.get_or_init(|| failure).clone()
    }

    /// Returns the tables with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u8, &TableStore)> {
        (0..=u8::MAX).zip(&self.tables)
    }

    pub(crate) fn write<T: TableSet>(
        &self,
        writer: &mut Writer,
        batches: Vec<WriteBatch<T>>,
    ) -> Result<WriteTimes, String> {
        let mut times = WriteTimes::default();
        let started = Instant::now();
        self.make_room(writer)?;
        let made_room = Instant::now();
        writer.record.clear();
        writer
            .record
            .reserve(batches.iter().map(record_bytes).sum());
        for write in batches.iter().flat_map(|batch| &batch.writes) {
            writer.record.push(Row {
                table: write.table.number(),
                key: &write.key,
                value: write.value.as_deref(),
            });
        }
        writer.log.append(&mut writer.record).map_err(describe)?;
        let appended = Instant::now();
        if self.options.sync_commits {
            self.sync(writer)?;
        } else {
            self.list_slot(writer)?;
        }
        let synced = Instant::now();
        self.apply(batches);
        writer.record.shrink(RECORD_KEEP_BYTES);
        times.room = made_room - started;
        times.append = appended - made_room;
        times.sync = synced - appended;
        times.apply = synced.elapsed();
        Ok(times)
    }

    /// Makes the last record durable, and updates the mark, by which a log that is shortened later is recognised.
    fn sync(&self, writer: &mut Writer) -> Result<(), String> {
        writer.log.sync().map_err(describe)?;
        self.list_slot(writer)?;
        self.keeper.note(writer.log.last_sequence())
    }

    /// Updates the inventory if the last record made the active slot longer.
    fn list_slot(&self, writer: &mut Writer) -> Result<(), String> {
        if let Some((name, slot)) = writer.log.unlisted() {
            self.keeper.change(|listing| {
                listing.slots.insert(name, slot);
            })?;
            writer.log.set_listed();
        }
        Ok(())
    }

    /// Updates the inventory to the tables' newest lists of files. `slots` are the log slots that are about to be cut, with
    /// their new lengths.
    pub(crate) fn list_tables(&self, slots: Vec<(String, SlotListing)>) -> Result<(), String> {
        let mut changed = Vec::new();
        for table in &self.tables {
            let known = self
                .keeper
                .listing()
                .tables
                .get(&table.name)
                .map(|known| known.list);
            let found = table
                .sorted
                .describe(known)
                .map_err(|error| format!("{}: {error}", table.sorted.path.display()))?;
            changed.extend(found.map(|found| (table.name.clone(), found)));
        }
        self.keeper.change(|listing| {
            for (name, found) in changed {
                // Another thread may have listed a newer version in the meantime.
                let newer = |known: &TableListing| known.list > found.list;
                if !listing.tables.get(&name).is_some_and(newer) {
                    listing.tables.insert(name, found);
                }
            }
            listing.slots.extend(slots);
        })
    }

    fn apply<T: TableSet>(&self, batches: Vec<WriteBatch<T>>) {
        let mut by_table: Vec<Vec<RowOrDeletion>> = vec![Vec::new(); self.tables.len()];
        for write in batches.into_iter().flat_map(|batch| batch.writes) {
            by_table[usize::from(write.table.number())].push((write.key, write.value));
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
        // If the budget is clipped, it is beyond the reach of every store.
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
    pub(crate) fn rotate(&self, writer: &mut Writer) -> Result<(), String> {
        let (slots, last_id) = self.background.take_slots();
        writer.log.reuse(slots, last_id);
        let spilled = self.choose_spilled();
        writer.record.clear();
        for (table, store) in self.numbered() {
            if !store.resident || spilled.contains(&table) {
                continue;
            }
            let mut memory = store.write();
            if store.sorted.is_empty() {
                memory.forget_tombstones();
            }
            for (key, value) in memory.active() {
                writer.record.push(Row {
                    table,
                    key,
                    value: value.as_deref(),
                });
            }
        }
        if !self.options.sync_commits {
            // A segment that is followed by another one is never cut short.
            writer.log.sync().map_err(describe)?;
        }
        writer.log.rotate().map_err(describe)?;
        writer.log.append(&mut writer.record).map_err(describe)?;
        self.sync(writer)?;
        let mut flushed = Vec::new();
        for (table, store) in self.numbered() {
            if !store.resident || spilled.contains(&table) {
                store.write().freeze();
                flushed.push(table);
            }
        }
        self.background.flush(FlushJob {
            tables: flushed,
            segments: writer.log.take_sealed(),
        });
        Ok(())
    }

    /// Chooses the resident tables that are flushed nevertheless: those whose deletions are worth a merge, and the largest
    /// others, until the rest fills at most a quarter of a log segment and fits one record.
    fn choose_spilled(&self) -> Vec<u8> {
        let mut sizes: Vec<(usize, u8)> = Vec::new();
        let mut spilled = Vec::new();
        for (table, store) in self.numbered().filter(|(_, store)| store.resident) {
            let memory = store.read();
            let many = !store.sorted.is_empty()
                && memory.tombstones() * 2 >= store.sorted.rows_approximate();
            if many {
                spilled.push(table);
            } else {
                sizes.push((memory.active_bytes(), table));
            }
        }
        sizes.sort();
        let mut total: usize = sizes.iter().map(|(bytes, _)| bytes).sum();
        // Rows take less room in a record than in memory.
        let most = (self.options.log_bytes / 4).min(self.options.commit_bytes_max as u64);
        while total as u64 > most
            && let Some((bytes, table)) = sizes.pop()
        {
            total -= bytes;
            spilled.push(table);
        }
        spilled
    }
}

/// Refuses batches that cannot be stored together in a record of `bytes_max` bytes, before anything is written. The store is not harmed.
pub(crate) fn check<T: TableSet>(
    batches: &[WriteBatch<T>],
    bytes_max: usize,
) -> Result<(), StoreFailure> {
    for write in batches.iter().flat_map(|batch| &batch.writes) {
        if write.key.is_empty() || write.key.len() > KEY_BYTES_MAX {
            return Err(bad_row(format!(
                "a key of {} bytes in {}",
                write.key.len(),
                write.table.name()
            )));
        }
    }
    let bytes: usize = batches.iter().map(record_bytes).sum();
    if bytes > bytes_max {
        return Err(bad_row(format!(
            "a commit of {bytes} bytes, expected at most {bytes_max}"
        )));
    }
    Ok(())
}

/// Returns the bytes that a batch takes in a record of the log.
pub(crate) fn record_bytes<T>(batch: &WriteBatch<T>) -> usize {
    batch.size_bytes() + batch.writes.len() * ROW_PREFIX_BYTES
}

fn describe(error: std::io::Error) -> String {
    error.to_string()
}
