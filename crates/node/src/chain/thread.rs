//! The core's thread: takes everything there is, runs one round, and submits what comes of it.
//!
//! ```text
//!  mailbox ──take all──► core.handle … core.flush ──► Round ──► committer ──durable──► actions
//!     ▲                                                             │
//!     └───────────────────────── Committed ◄────────────────────────┘
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::core::{Core, Round};
use chain::port::{StoreFailure, Table};
use store::{Class, CommitHandle};

use super::perform::perform;
use super::shared::{Shared, Store, Work};

/// Most events in one round: a bound on how long what is ready has to wait for the round's end.
const ROUND_EVENTS_MAX: usize = 1_024;

/// What the thread owns.
pub(super) struct CoreThread {
    pub(super) core: Core<Store>,
    pub(super) committer: CommitHandle<Table>,
    pub(super) shared: Arc<Shared>,
    /// Rounds submitted and not durable yet.
    pub(super) outstanding: usize,
}

impl CoreThread {
    /// Runs until the mailbox is closed, the store fails, or something panics: then what the core holds in memory is in doubt, and
    /// nothing of it may be written any more.
    pub(super) fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        contained(&shared, || self.rounds());
    }

    fn rounds(&mut self) {
        let mut work = Vec::new();
        loop {
            let deadline = self.core.next_wake().map(|at| {
                let left = at.saturating_sub(self.shared.clock.now_ms());
                Instant::now() + Duration::from_millis(left)
            });
            self.shared
                .mailbox
                .take(ROUND_EVENTS_MAX, deadline, &mut work);
            self.shared.taken.notify_waiters();
            if self.shared.mailbox.is_closed() {
                return;
            }
            if let Err(failure) = self.round(&mut work) {
                self.shared.fail(&failure);
                return;
            }
        }
    }

    fn round(&mut self, work: &mut Vec<Work>) -> Result<(), StoreFailure> {
        let began = Instant::now();
        let (mut events, mut looks) = (0, Vec::new());
        for work in work.drain(..) {
            match work {
                Work::Event(event) => {
                    events += 1;
                    self.core.handle(self.shared.clock.now_ms(), event)?;
                }
                Work::Committed => {
                    self.outstanding = self.outstanding.saturating_sub(1);
                    self.core.committed();
                }
                Work::Look(look) => looks.push(look),
            }
        }
        let now_ms = self.shared.clock.now_ms();
        if events > 0 || self.core.next_wake().is_some_and(|at| at <= now_ms) {
            let round = self.core.flush(now_ms)?;
            let metrics = &self.shared.metrics;
            metrics.round_events.record(events);
            metrics.round_time.record_time(began.elapsed());
            self.submit(round);
        }
        for look in looks {
            look(&self.core);
        }
        self.shared.lock_shown().core = self.core.figures();
        Ok(())
    }

    fn submit(&mut self, round: Round) {
        let Round { batch, actions } = round;
        if batch.writes.is_empty() && actions.is_empty() && self.outstanding == 0 {
            self.core.committed();
            return;
        }
        let metrics = &self.shared.metrics;
        if !batch.writes.is_empty() {
            metrics.commit_rows.record(batch.writes.len() as u64);
            metrics.commit_bytes.record(batch.size_bytes() as u64);
        }
        self.outstanding += 1;
        let shared = Arc::clone(&self.shared);
        let began = Instant::now();
        // An empty batch waits for those before it, and costs no sync.
        self.committer
            .submit(0, Class::Normal, batch, move |_, outcome| match outcome {
                Ok(()) => {
                    shared.metrics.commit_time.record_time(began.elapsed());
                    contained(&shared, || {
                        perform(&shared, actions);
                        shared.mailbox.push(Work::Committed);
                    });
                }
                Err(failure) => shared.fail(&failure),
            });
    }
}

/// Runs a part of the node's work; its panic is the node's failure, as a store that fails is: nobody waits for ever.
fn contained(shared: &Shared, work: impl FnOnce()) {
    // Whatever a panic leaves half changed is looked at no more: the core's thread ends.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        shared.panicked(&*panic);
    }
}
