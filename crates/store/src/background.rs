//! The two threads behind the writer: one flushes rows to sorted tables and retires log segments, one merges tables.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use crate::log::{Segment, slot_name};
use crate::priority;
use crate::shared::Shared;
use crate::sorted::{TOP_RUNS_MAX, describe_tree};

/// Maximum size of a resident table's sorted files at which they are merged as a whole, in bytes. A whole merge removes all
/// deletions at once.
const MERGE_WHOLE_BYTES: u64 = 64 << 20;

/// One flush: the frozen rows of the tables with these numbers, then the segments that hold nothing else.
pub(crate) struct FlushJob {
    pub(crate) tables: Vec<u8>,
    pub(crate) segments: Vec<Segment>,
}

/// State shared by the writer and the two background threads.
#[derive(Default)]
pub(crate) struct Background {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    job: Option<FlushJob>,
    flushing: bool,
    merges: Vec<u8>,
    merging: bool,
    slots: Vec<(PathBuf, File)>,
    retired_id: u64,
    stopping: bool,
    failed: Option<String>,
}

impl Background {
    /// Starts both threads.
    pub(crate) fn start(shared: &Arc<Shared>) -> std::io::Result<Vec<JoinHandle<()>>> {
        let spawn = |name: &str, run: fn(&Shared)| {
            let shared = Arc::clone(shared);
            std::thread::Builder::new()
                .name(name.into())
                .spawn(move || {
                    let run = std::panic::AssertUnwindSafe(|| run(&shared));
                    if std::panic::catch_unwind(run).is_err() {
                        shared
                            .background
                            .fail(&shared, "a background thread of the store panicked".into());
                    }
                })
        };
        // Requests the merges that a killed process had not finished.
        for (table, store) in shared.numbered() {
            if store.sorted.wants_merge() || (store.resident && !store.sorted.is_empty()) {
                shared.background.want_merge(table);
            }
        }
        let flush = spawn("store-flush", |shared| {
            while let Some(job) = shared.background.next_job() {
                match flush(shared, job) {
                    Ok(()) => shared.background.flushed(),
                    Err(reason) => shared.background.fail(shared, reason),
                }
            }
        })?;
        let merge = spawn("store-merge", |shared| {
            priority::lower();
            while let Some(table) = shared.background.next_merge() {
                if let Err(reason) = merge(shared, table) {
                    shared.background.fail(shared, reason);
                }
                shared.background.lock().merging = false;
                shared.background.changed.notify_all();
            }
        });
        match merge {
            Ok(merge) => Ok(vec![flush, merge]),
            Err(error) => {
                shared.background.stop();
                Err(error)
            }
        }
    }

    /// Ends the threads after their current work.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Hands a flush over; the last one is done.
    pub(crate) fn flush(&self, job: FlushJob) {
        let mut state = self.lock();
        state.flushing = true;
        state.job = Some(job);
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn is_flushing(&self) -> bool {
        self.lock().flushing
    }

    /// Waits until no flush runs. Fails when one has failed.
    pub(crate) fn wait_flushed(&self) -> Result<(), String> {
        let mut state = self.lock();
        loop {
            if let Some(reason) = &state.failed {
                return Err(reason.clone());
            }
            if !state.flushing {
                return Ok(());
            }
            state = self.wait(state);
        }
    }

    /// Waits until neither a flush nor a merge runs or is wanted. Fails when one has failed.
    pub(crate) fn wait_settled(&self) -> Result<(), String> {
        let mut state = self.lock();
        loop {
            if let Some(reason) = &state.failed {
                return Err(reason.clone());
            }
            if !state.flushing && !state.merging && state.merges.is_empty() {
                return Ok(());
            }
            state = self.wait(state);
        }
    }

    /// Slots of retired segments, and the id of the last of them.
    pub(crate) fn take_slots(&self) -> (Vec<(PathBuf, File)>, u64) {
        let mut state = self.lock();
        (std::mem::take(&mut state.slots), state.retired_id)
    }

    fn next_job(&self) -> Option<FlushJob> {
        let mut state = self.lock();
        loop {
            // A merge that failed may have written a new list of its table. A flush would write another list with the same number.
            if state.failed.is_some() {
                return None;
            }
            if let Some(job) = state.job.take() {
                return Some(job);
            }
            if state.stopping {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn next_merge(&self) -> Option<u8> {
        let mut state = self.lock();
        loop {
            if state.stopping || state.failed.is_some() {
                return None;
            }
            if let Some(table) = state.merges.pop() {
                state.merging = true;
                return Some(table);
            }
            state = self.wait(state);
        }
    }

    fn want_merge(&self, table: u8) {
        let mut state = self.lock();
        if !state.merges.contains(&table) {
            state.merges.insert(0, table);
        }
        drop(state);
        self.changed.notify_all();
    }

    fn flushed(&self) {
        self.lock().flushing = false;
        self.changed.notify_all();
    }

    fn fail(&self, shared: &Shared, reason: String) {
        tracing::error!(%reason, "a background task of the store failed");
        shared.poisoned(reason.clone());
        let mut state = self.lock();
        state.flushing = false;
        state.failed.get_or_insert(reason);
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of another holder does no harm: the state is consistent after each statement that changes it.
        self.state
            .lock()
            .unwrap_or_else(|panicked| panicked.into_inner())
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(|panicked| panicked.into_inner())
    }
}

fn flush(shared: &Shared, job: FlushJob) -> Result<(), String> {
    let background = &shared.background;
    for table in job.tables {
        let store = &shared.tables[usize::from(table)];
        let Some(rows) = store.read().frozen() else {
            continue;
        };
        let mut state = background.lock();
        while store.sorted.top_runs() >= TOP_RUNS_MAX && !state.stopping && state.failed.is_none() {
            state = background.wait(state);
        }
        drop(state);
        store
            .sorted
            .ingest(&rows)
            .map_err(|error| describe_tree(&error))?;
        // The guard ends with this statement; the rows are freed after it.
        let thawed = store.write().thaw();
        drop((thawed, rows));
        background.want_merge(table);
    }
    // Before the segments that hold the same rows are given up.
    let shortened = job.segments.iter().filter_map(|segment| {
        let (path, slot) = segment.shortened(shared.options.log_bytes)?;
        Some((slot_name(path), slot))
    });
    shared.list_tables(shortened.collect())?;
    let last_id = job.segments.last().map_or(0, |segment| segment.header.id);
    let mut slots = Vec::new();
    for segment in job.segments {
        let slot = segment
            .retire(shared.options.log_bytes)
            .map_err(|error| error.to_string())?;
        slots.push(slot);
    }
    let mut state = background.lock();
    state.slots.extend(slots);
    state.retired_id = state.retired_id.max(last_id);
    Ok(())
}

fn merge(shared: &Shared, table: u8) -> Result<(), String> {
    let store = &shared.tables[usize::from(table)];
    let whole = store.resident && store.sorted.bytes() <= MERGE_WHOLE_BYTES;
    let merged = if whole {
        store.sorted.merge_all()
    } else {
        store.sorted.merge()
    };
    merged.map_err(|error| describe_tree(&error))?;
    shared.list_tables(Vec::new())
}
