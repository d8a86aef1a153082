//! The two threads behind the writer: one flushes rows to sorted tables and retires log segments, one merges tables.

use std::sync::Arc;
use std::thread::JoinHandle;

use crate::background::FlushJob;
use crate::log::slot_name;
use crate::priority;
use crate::shared::StoreState;
use crate::sorted::{TOP_RUNS_MAX, describe_tree};

/// Maximum size of a resident table's sorted files at which they are merged as a whole, in bytes. A whole merge removes all
/// deletions at once.
const MERGE_WHOLE_BYTES: u64 = 64 << 20;

/// Starts both threads.
pub(crate) fn start(shared: &Arc<StoreState>) -> std::io::Result<Vec<JoinHandle<()>>> {
    // Requests the merges that a killed process had not finished.
    for (table, store) in shared.numbered() {
        if store.sorted.wants_merge() || (store.resident && !store.sorted.is_empty()) {
            shared.background.want_merge(table);
        }
    }
    let flush = spawn(shared, "store-flush", |shared| {
        while let Some(job) = shared.background.next_job() {
            match flush(shared, job) {
                Ok(()) => shared.background.flushed(),
                Err(reason) => fail(shared, reason),
            }
        }
    })?;
    let merge = spawn(shared, "store-merge", |shared| {
        priority::lower_priority();
        while let Some(table) = shared.background.next_merge() {
            if let Err(reason) = merge(shared, table) {
                fail(shared, reason);
            }
            shared.background.merged();
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

fn spawn(
    shared: &Arc<StoreState>,
    name: &str,
    run: fn(&StoreState),
) -> std::io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name(name.into());
    thread.spawn(move || {
        let run = std::panic::AssertUnwindSafe(|| run(&shared));
        if std::panic::catch_unwind(run).is_err() {
            fail(&shared, "a background thread of the store panicked".into());
        }
    })
}

fn fail(shared: &StoreState, reason: String) {
    tracing::error!(%reason, "a background task of the store failed");
    shared.poisoned(reason.clone());
    shared.background.fail(reason);
}

fn flush(shared: &StoreState, job: FlushJob) -> Result<(), String> {
    let background = &shared.background;
    for table in job.tables {
        let store = &shared.tables[usize::from(table)];
        let Some(rows) = store.read().frozen() else {
            continue;
        };
        background.wait_while(|| store.sorted.top_runs() >= TOP_RUNS_MAX);
        store
            .sorted
            .ingest(&rows)
            .map_err(|error| describe_tree(&error))?;
        // The guard ends with this statement; the rows are freed after it.
        let thawed = store.write().thaw();
        drop((thawed, rows));
        background.want_merge(table);
    }
    // The inventory must list the new files before the log segments with the same rows are retired.
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
    background.keep_slots(slots, last_id);
    Ok(())
}

fn merge(shared: &StoreState, table: u8) -> Result<(), String> {
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
