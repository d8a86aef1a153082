//! The background work of the store, on two threads: flushes and merges.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::log::Segment;

/// One flush: the frozen rows of the tables with these numbers, then the segments that hold nothing else.
pub(crate) struct FlushJob {
    pub(crate) tables: Vec<u8>,
    pub(crate) segments: Vec<Segment>,
}

/// State shared by the writer and the two background threads.
#[derive(Default)]
pub(crate) struct Background {
    state: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
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
    /// Ends the threads after their current work.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Hands a flush to its thread. The previous one has finished.
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

    /// Waits for the next flush. Returns `None` when the thread has to end.
    pub(crate) fn next_job(&self) -> Option<FlushJob> {
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

    /// Waits for the next table to merge. Returns `None` when the thread has to end.
    pub(crate) fn next_merge(&self) -> Option<u8> {
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

    pub(crate) fn want_merge(&self, table: u8) {
        let mut state = self.lock();
        if !state.merges.contains(&table) {
            state.merges.insert(0, table);
        }
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn flushed(&self) {
        self.lock().flushing = false;
        self.changed.notify_all();
    }

    pub(crate) fn merged(&self) {
        self.lock().merging = false;
        self.changed.notify_all();
    }

    /// Waits while something holds that a merge may end, unless the threads have to end.
    pub(crate) fn wait_while(&self, holds: impl Fn() -> bool) {
        let mut state = self.lock();
        while holds() && !state.stopping && state.failed.is_none() {
            state = self.wait(state);
        }
    }

    /// Passes the slots of retired segments to the writer. `last_id` is the id of the last of them.
    pub(crate) fn keep_slots(&self, slots: Vec<(PathBuf, File)>, last_id: u64) {
        let mut state = self.lock();
        state.slots.extend(slots);
        state.retired_id = state.retired_id.max(last_id);
    }

    /// Ends both threads, and fails everything that waits for them.
    pub(crate) fn fail(&self, reason: String) {
        let mut state = self.lock();
        state.flushing = false;
        state.failed.get_or_insert(reason);
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        // A panic of another holder does no harm: the state is consistent after each statement that changes it.
        self.state
            .lock()
            .unwrap_or_else(|panicked| panicked.into_inner())
    }

    fn wait<'a>(&self, state: MutexGuard<'a, Work>) -> MutexGuard<'a, Work> {
        self.changed
            .wait(state)
            .unwrap_or_else(|panicked| panicked.into_inner())
    }
}
