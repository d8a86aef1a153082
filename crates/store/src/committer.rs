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
//!
//! # Behind a server
//! If a database server keeps the commits ([`CommitServer`]), the commit thread numbers and sends them, several of them before the first one is
//! confirmed. The apply thread waits for the confirmations in order, writes each commit to the store, which is a cache, and runs the
//! completions. Then "on disk" means: on the server's disk.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use primitives::storage::{StoreFailure, TableSet, WriteBatch};

use crate::embedded::Embedded;
use crate::failure::{closed, write_failed};
use crate::priority;
use crate::queue::{OnDurable, Queue, Submission};
use crate::server::{ChangedKey, CommitServer, ServerCommit, encode_commit, position_row};
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

/// The server behind which a committer works.
pub struct BehindServer<T: TableSet> {
    /// The server.
    pub server: Arc<dyn CommitServer>,
    /// The database's id, which the cache remembers.
    pub database: [u8; 16],
    /// The number of the last commit, which both the server and the cache have.
    pub last: u64,
    /// The fencing token of this process, which the cache remembers with each commit.
    pub fence: u64,
    /// The table in which the cache keeps the number of its last commit.
    pub position: T,
    /// Maximum number of commits that are sent before the first of them is confirmed.
    pub in_flight_max: usize,
}

/// The running commit thread. Dropping it finishes the queue, then stops the thread.
pub struct Committer<T: TableSet> {
    shared: Arc<CommitterState<T>>,
    threads: Vec<JoinHandle<()>>,
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
    /// Largest record of the store that submissions may fill, in bytes.
    record_bytes_max: usize,
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
        let record_bytes_max = store.shared().options.commit_bytes_max;
        let shared = CommitterState::of(store, options, record_bytes_max);
        let thread = std::thread::Builder::new().name("commit".into()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.run()
        })?;
        Ok(Self {
            shared,
            threads: vec![thread],
        })
    }

    /// Starts the commit thread of a cache, whose commits a server keeps, and the thread that applies them.
    pub fn start_behind(
        cache: Embedded<T>,
        options: CommitterOptions,
        behind: BehindServer<T>,
    ) -> std::io::Result<Self> {
        // The cache adds a row to each commit.
        let position = record_bytes(&position_row(behind.position, behind.database, 0, 0));
        let record_bytes_max = cache.shared().options.commit_bytes_max;
        // Clipped at 0 for a maximum that is smaller than that row, with which nothing can be written.
        let record_bytes_max = record_bytes_max.saturating_sub(position);
        let shared = CommitterState::of(cache, options, record_bytes_max);
        let (to_apply, sent) = channel();
        let (permit, permits) = sync_channel(behind.in_flight_max.max(1));
        for _ in 0..behind.in_flight_max.max(1) {
            // The channel has room for all of them.
            let _ = permit.send(());
        }
        let (server, last) = (Arc::clone(&behind.server), behind.last);
        let spawn = |name: &str| std::thread::Builder::new().name(name.into());
        let apply = spawn("apply").spawn({
            let shared = Arc::clone(&shared);
            move || {
                let work = AssertUnwindSafe(|| shared.apply_all(&behind, &sent, &permit));
                if std::panic::catch_unwind(work).is_err() {
                    // The sent commits stay without a completion. Nothing more is accepted.
                    let reason = "the thread that applies commits panicked";
                    shared.fail(Vec::new(), write_failed(shared.store.path(), reason));
                }
            }
        })?;
        let commit = spawn("commit").spawn({
            let shared = Arc::clone(&shared);
            move || shared.send_all(&*server, last, &permits, &to_apply)
        })?;
        Ok(Self {
            shared,
            // The apply thread ends after the commit thread has.
            threads: vec![commit, apply],
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
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a commit thread panicked");
            }
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

/// A group whose commit was sent to the server.
struct SentGroup<T> {
    group: Vec<Submission<T>>,
    batches: Vec<WriteBatch<T>>,
    sent: Instant,
    /// The commit's number and the server's answer, unless the group has no rows.
    commit: Option<(u64, Receiver<Result<(), StoreFailure>>)>,
}

impl<T: TableSet> CommitterState<T> {
    fn of(store: Embedded<T>, options: CommitterOptions, record_bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
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
            record_bytes_max,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Submissions<T>> {
        // The state is consistent between any two statements that hold the lock.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn raise_priority(&self) {
        if self.options.raise_priority {
            let granted = priority::raise();
            tracing::info!(?granted, "commit thread priority");
        }
    }

    fn run(&self) {
        self.raise_priority();
        while let Some(group) = self.next_group() {
            self.commit(group);
        }
    }

    /// Returns the largest record that the store writes.
    fn commit_bytes_max(&self) -> usize {
        self.record_bytes_max
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
        let batches = take_batches(&mut group);
        let outcome = match batches.is_empty() {
            true => Ok(()),
            false => self.write(&group, batches, Instant::now()),
        };
        self.complete_all(group, outcome);
    }

    /// Sends each group to the server, as soon as fewer commits than the maximum are in flight.
    fn send_all(
        &self,
        server: &dyn CommitServer,
        mut last: u64,
        permits: &Receiver<()>,
        to_apply: &Sender<SentGroup<T>>,
    ) {
        self.raise_priority();
        loop {
            if permits.recv().is_err() {
                return self.fail(Vec::new(), closed(self.store.path()));
            }
            let Some(mut group) = self.next_group() else {
                return;
            };
            let batches = take_batches(&mut group);
            let sent = Instant::now();
            let commit = (!batches.is_empty()).then(|| {
                last += 1;
                let (sender, confirmed) = sync_channel(1);
                server.send(ServerCommit {
                    number: last,
                    rows: encode_commit(last, &batches),
                    // The apply thread waits for it, unless it panicked.
                    confirm: Box::new(move |outcome| drop(sender.send(outcome))),
                });
                (last, confirmed)
            });
            let group = SentGroup {
                group,
                batches,
                sent,
                commit,
            };
            if let Err(unsent) = to_apply.send(group) {
                // The apply thread panicked.
                return self.fail(unsent.0.group, closed(self.store.path()));
            }
        }
    }

    /// Writes each confirmed commit to the cache, in order, and completes its submissions.
    fn apply_all(
        &self,
        behind: &BehindServer<T>,
        sent: &Receiver<SentGroup<T>>,
        permit: &SyncSender<()>,
    ) {
        // After one commit has failed, no later group completes, not even one without rows.
        let mut failed: Option<StoreFailure> = None;
        while let Ok(SentGroup {
            group,
            mut batches,
            sent,
            commit,
        }) = sent.recv()
        {
            let Some((number, confirmed)) = commit else {
                let _ = permit.send(());
                self.complete_all(group, failed.clone().map_or(Ok(()), Err));
                continue;
            };
            // A server that drops a commit without an answer has stopped.
            let answer = confirmed.recv();
            let answer = answer.unwrap_or_else(|_| Err(closed(self.store.path())));
            // The commit thread may have ended.
            let _ = permit.send(());
            let keys = changed_keys(&batches);
            let BehindServer {
                position,
                database,
                fence,
                ..
            } = behind;
            batches.push(position_row(*position, *database, number, *fence));
            let outcome = failed
                .clone()
                .map_or(Ok(()), Err)
                .and(answer)
                .and_then(|()| self.write(&group, batches, sent));
            failed = outcome.as_ref().err().cloned();
            self.complete_all(group, outcome);
            if failed.is_none() {
                behind.server.applied(number, keys);
            }
        }
    }

    fn write(
        &self,
        group: &[Submission<T>],
        batches: Vec<WriteBatch<T>>,
        started: Instant,
    ) -> Result<(), StoreFailure> {
        let rows = batches.iter().map(|batch| batch.writes.len() as u64).sum();
        let bytes = group.iter().map(|submission| submission.bytes as u64).sum();
        let times = self.store.write(batches)?;
        self.stats
            .commit(group.len() as u64, rows, bytes, started.elapsed(), times);
        Ok(())
    }

    fn complete_all(&self, group: Vec<Submission<T>>, outcome: Result<(), StoreFailure>) {
        match outcome {
            Ok(()) => {
                for submission in group {
                    self.complete(submission, Ok(()));
                }
            }
            Err(failure) => self.fail(group, failure),
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
        let run = AssertUnwindSafe(move || on_durable(number, outcome));
        if std::panic::catch_unwind(run).is_err() {
            tracing::error!(number, "the completion of a commit panicked");
        }
    }
}

/// Takes the rows out of submissions.
fn take_batches<T>(group: &mut [Submission<T>]) -> Vec<WriteBatch<T>> {
    group
        .iter_mut()
        .map(|submission| std::mem::take(&mut submission.batch))
        .filter(|batch| !batch.is_empty())
        .collect()
}

fn changed_keys<T: TableSet>(batches: &[WriteBatch<T>]) -> Vec<ChangedKey> {
    let writes = batches.iter().flat_map(|batch| &batch.writes);
    writes
        .map(|write| ChangedKey {
            table: write.table.number(),
            key: write.key.clone(),
        })
        .collect()
}
