//! The last steps of a round: performing actions after a durable commit, and the orderly stop after a failure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use primitives::storage::{FailureKind, StoreFailure, TableSet, WriteBatch};

use crate::core::{Core, Shell};
use crate::failure::of_panic;
use crate::handle::{Handle, Message};
use crate::metrics::{Counter, Histogram};

/// The metrics of rounds and commits.
#[derive(Clone, Debug)]
pub struct RoundMetrics {
    /// Events decided in one round.
    pub round_events: Histogram,
    /// Time to decide one round, without its commit.
    pub round_time: Histogram,
    /// Rows of one commit.
    pub commit_rows: Histogram,
    /// Bytes of keys and values of one commit.
    pub commit_bytes: Histogram,
    /// Time from the submission of a commit until it is durable.
    pub commit_time: Histogram,
    /// Failed reads and writes of the store.
    pub commit_failures: Counter,
}

impl RoundMetrics {
    pub(crate) fn round(&self, events: u64, took: Duration) {
        self.round_events.record(events);
        self.round_time.record_time(took);
    }

    /// Records the size of a batch. An empty batch is no commit: nothing is written or synced for it.
    pub(crate) fn submitted<T: TableSet>(&self, batch: &WriteBatch<T>) {
        if !batch.is_empty() {
            self.commit_rows.record(batch.writes.len() as u64);
            self.commit_bytes.record(batch.size_bytes() as u64);
        }
    }
}

/// The shared part of a runtime: the core's thread and the commit thread perform actions and report failures through it.
pub(crate) struct Performer<C: Core, S> {
    pub(crate) handle: Handle<C::Messages>,
    pub(crate) shell: Arc<S>,
    pub(crate) metrics: RoundMetrics,
    /// Whether a failure was reported to the shell.
    pub(crate) told: AtomicBool,
}

impl<C: Core, S: Shell<C>> Performer<C, S> {
    /// Handles the outcome of a commit, on the commit thread.
    pub(crate) fn completed(
        &self,
        number: u64,
        submitted: Instant,
        outcome: Result<(), StoreFailure>,
        actions: C::Actions,
    ) {
        match outcome {
            Ok(()) => self.contained(|| {
                self.metrics.commit_time.record_time(submitted.elapsed());
                self.shell.perform(actions);
                self.handle.mailbox().push_first(Message::Committed(number));
            }),
            Err(failure) => self.fail(&failure),
        }
    }

    /// Runs a part of the node's work. If it panics, the state of the core is unknown, so the node stops as it does when its
    /// store fails.
    pub(crate) fn contained(&self, work: impl FnOnce()) {
        // The core's thread ends after a panic, so it never uses state that the panic left half changed.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.fail(&of_panic(C::PANICKED, C::SUBJECT, &*panic));
        }
    }

    /// Stops the core because of a failure, and has the shell tell all callers that wait.
    pub(crate) fn fail(&self, failure: &StoreFailure) {
        tracing::error!(
            code = failure.code,
            hint = failure.hint,
            "the node takes no more work: {}",
            failure.message
        );
        if failure.kind != FailureKind::Panic {
            self.metrics.commit_failures.increment();
        }
        self.handle.fail(failure);
        self.tell_shell(failure);
    }

    /// Reports the first failure to the shell, which answers all waiting callers with it. Later failures are ignored.
    pub(crate) fn tell_shell(&self, failure: &StoreFailure) {
        if !self.told.swap(true, Ordering::AcqRel) {
            self.shell.failed(failure);
        }
    }
}
