//! Group commit: one thread writes, in one atomic and synced batch, the submissions that queued while the last commit was
//! syncing.
//!
//! ```text
//! submit ──► queue (normal, bulk) ──► [ one batch, one sync ] ──► completions, in order
//!              ▲ blocks when full           │ fails
//!                                           ▼
//!                                poisoned: everything fails, until the store is opened again
//! ```
//!
//! # Invariants
//! - A completion with `Ok` runs only after its rows, and those of every earlier submission of its class, are on disk.
//! - Completions of one class run in the order of submission.
//! - An empty submission completes after the earlier ones and needs no sync.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use primitives::storage::{StoreFailure, TableSet, WriteBatch};

use crate::embedded::Embedded;
use crate::failure::closed;
use crate::priority;
use crate::queue::{OnDurable, Queue, Submission};
use crate::shared::{check, record_bytes};
use crate::stats::CommitStats;

/// Settings of the group commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitterOptions {
    /// Maximum bytes of keys and values in one commit. A single larger submission is committed alone.
    pub group_bytes_max: usize,
    /// Maximum bytes of waiting submissions. At this size, submitters block.
    pub queue_bytes_max: usize,
    /// Time to wait for further submissions before a commit, in microseconds. 0, the default, never waits.
    pub linger_us: u64,
    /// Ask the system for a better priority of the commit thread.
    pub raise_priority: bool,
}

impl Default for CommitterOptions {
    fn default() -> Self {
        Self {
            group_bytes_max: 1 << 20,
            queue_bytes_max: 16 << 20,
            linger_us: 0,
            raise_priority: true,
        }
    }
}

/// The class of a submission, which decides about its share of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// For steps of flows and batches of the notary: first in, first out.
    Normal,
    /// For resolution, import and large writes: at most half of a commit while normal ones wait. Ordered only among
    /// themselves: a normal submission must never depend on a bulk one that has not completed.
    Bulk,
}

/// The running commit thread. Dropping it finishes the queue, then stops the thread.
pub struct Committer<T: TableSet> {
    shared: Arc<CommitterState<T>>,
    thread: Option<JoinHandle<()>>,
}

/// Submits batches; cheap to clone.
#[derive(Clone)]
pub struct CommitHandle<T: TableSet> {
    shared: Arc<CommitterState<T>>,
}

struct CommitterState<T: TableSet> {
    store: Embedded<T>,
    options: CommitterOptions,
    state: Mutex<Submissions<T>>,
    /// Something was submitted, or the committer closes.
    arrived: Condvar,
    /// The queue has room again.
    room: Condvar,
    stats: CommitStats,
}

struct Submissions<T> {
    queue: Queue<T>,
    closing: bool,
    /// The failure with which submissions are refused, after the store has failed or was closed.
    refusal: Option<StoreFailure>,
}

impl<T: TableSet> Committer<T> {
    /// Starts the commit thread of an open store.
    pub fn start(store: Embedded<T>, options: CommitterOptions) -> std::io::Result<Self> {
        let shared = Arc::new(CommitterState {
            store,
            options,
            state: Mutex::new(Submissions {
                queue: Queue::default(),
                closing: false,
                refusal: None,
            }),
            arrived: Condvar::new(),
            room: Condvar::new(),
            stats: CommitStats::default(),
        });
        let thread = std::thread::Builder::new().name("commit".into()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.run()
        })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Returns a handle for submissions.
    pub fn handle(&self) -> CommitHandle<T> {
        CommitHandle {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T: TableSet> Drop for Committer<T> {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.arrived.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the commit thread panicked");
        }
    }
}

impl<T: TableSet> CommitHandle<T> {
    /// Queues a batch. `on_durable` runs once, on the commit thread, with the number and the outcome; keep it short.
    /// Blocks while `queue_bytes_max` bytes wait. A batch that cannot be stored is refused at once, on the calling thread.
    pub fn submit(
        &self,
        number: u64,
        class: Class,
        batch: WriteBatch<T>,
        on_durable: impl FnOnce(u64, Result<(), StoreFailure>) + Send + 'static,
    ) {
        let submission = Submission {
            number,
            bytes: batch.size_bytes(),
            record_bytes: record_bytes(&batch),
            batch,
            submitted: Instant::now(),
            on_durable: Box::new(on_durable),
        };
        let shared = &self.shared;
        let batches = std::slice::from_ref(&submission.batch);
        if let Err(refused) = check(batches, shared.commit_bytes_max()) {
            shared.complete(submission, Err(refused));
            return;
        }
        let mut state = shared.lock();
        while state.refusal.is_none() && state.queue.bytes() >= shared.options.queue_bytes_max {
            state = shared
                .room
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        if let Some(refusal) = &state.refusal {
            let refusal = refusal.clone();
            drop(state);
            shared.complete(submission, Err(refusal));
            return;
        }
        let idle = state.queue.is_empty();
        state.queue.push(submission, class == Class::Bulk);
        drop(state);
        if idle {
            shared.arrived.notify_one();
        }
    }

    /// Submits and waits until the batch is durable.
    pub fn commit(&self, class: Class, batch: WriteBatch<T>) -> Result<(), StoreFailure> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.submit(0, class, batch, move |_, outcome| {
            // The receiver waits below; it cannot be gone.
            let _ = sender.send(outcome);
        });
        receiver
            .recv()
            .unwrap_or_else(|_| Err(closed(self.shared.store.path())))
    }

    /// Returns the reason if submissions are refused.
    pub fn failure(&self) -> Option<StoreFailure> {
        self.shared.lock().refusal.clone()
    }

    /// Returns the counters for metrics.
    pub fn stats(&self) -> &CommitStats {
        &self.shared.stats
    }

    /// Returns the bytes that wait for a commit.
    pub fn queued_bytes(&self) -> usize {
        self.shared.lock().queue.bytes()
    }
}

impl<T: TableSet> CommitterState<T> {
    fn lock(&self) -> MutexGuard<'_, Submissions<T>> {
        // The state is consistent between any two statements that hold the lock.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn run(&self) {
        if self.options.raise_priority {
            let granted = priority::raise();
            tracing::info!(?granted, "commit thread priority");
        }
        while let Some(group) = self.next_group() {
            self.commit(group);
        }
    }

    /// Returns the largest record that the store writes.
    fn commit_bytes_max(&self) -> usize {
        self.store.shared().options.commit_bytes_max
    }

    /// Returns the next group, or `None` when the committer closes and the queue is empty.
    fn next_group(&self) -> Option<Vec<Submission<T>>> {
        let mut state = self.lock();
        while state.queue.is_empty() {
            if state.closing {
                state
                    .refusal
                    .get_or_insert_with(|| closed(self.store.path()));
                self.room.notify_all();
                return None;
            }
            state = self
                .arrived
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        if self.options.linger_us > 0 && !state.closing {
            drop(state);
            std::thread::sleep(Duration::from_micros(self.options.linger_us));
            state = self.lock();
        }
        let was_full = state.queue.bytes() >= self.options.queue_bytes_max;
        let group = state
            .queue
            .take(self.options.group_bytes_max, self.commit_bytes_max());
        drop(state);
        if was_full {
            self.room.notify_all();
        }
        Some(group)
    }

    fn commit(&self, mut group: Vec<Submission<T>>) {
        let batches: Vec<WriteBatch<T>> = group
            .iter_mut()
            .map(|submission| std::mem::take(&mut submission.batch))
            .filter(|batch| !batch.is_empty())
            .collect();
        if !batches.is_empty() {
            let started = Instant::now();
            let rows = batches.iter().map(|batch| batch.writes.len() as u64).sum();
            let bytes = group.iter().map(|submission| submission.bytes as u64).sum();
            match self.store.write(batches) {
                Ok(times) => {
                    self.stats
                        .commit(group.len() as u64, rows, bytes, started.elapsed(), times)
                }
                Err(failure) => {
                    self.fail(group, failure);
                    return;
                }
            }
        }
        for submission in group {
            self.complete(submission, Ok(()));
        }
    }

    /// Refuses all later submissions, and fails the waiting ones.
    fn fail(&self, group: Vec<Submission<T>>, failure: StoreFailure) {
        tracing::error!(code = failure.code, message = %failure.message, hint = failure.hint, "the store refuses writes");
        let mut state = self.lock();
        state.refusal = Some(failure.clone());
        let waiting = state.queue.drain();
        drop(state);
        self.room.notify_all();
        for submission in group.into_iter().chain(waiting) {
            self.complete(submission, Err(failure.clone()));
        }
    }

    fn complete(&self, submission: Submission<T>, outcome: Result<(), StoreFailure>) {
        match &outcome {
            Ok(()) => self.stats.completed(submission.submitted.elapsed()),
            Err(_) => self.stats.failed(),
        }
        let number = submission.number;
        let on_durable: OnDurable = submission.on_durable;
        let run = std::panic::AssertUnwindSafe(move || on_durable(number, outcome));
        if std::panic::catch_unwind(run).is_err() {
            tracing::error!(number, "the completion of a commit panicked");
        }
    }
}
