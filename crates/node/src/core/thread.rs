//! The kernel's thread: takes every event there is, runs one round, and performs what comes of it.
//!
//! ```text
//!  mailbox ──take all──► kernel.handle … kernel.flush ──► Commit ──► committer ──durable──► sends, replies, view
//!     ▲                                                                   │
//!     └───────────────────────────── Committed ◄──────────────────────────┘
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use flow::FlowId;
use kernel::port::{Reads, StoreFailure};
use kernel::{Action, Event, Kernel};
use store::{Class, CommitHandle};

use super::shared::Shared;

/// Most events in one round: a bound on how long what is ready has to wait for the round's end.
const ROUND_EVENTS_MAX: usize = 1_024;
/// How often an idle node looks at its clock.
const CLOCK_LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the thread owns.
pub(super) struct CoreThread<R> {
    pub(super) kernel: Kernel,
    pub(super) reads: R,
    pub(super) committer: CommitHandle,
    pub(super) shared: Arc<Shared>,
}

impl<R: Reads> CoreThread<R> {
    /// Runs until the mailbox is closed, the store fails, or something panics: then what the kernel holds in memory is in doubt,
    /// and nothing of it may be written any more.
    pub(super) fn run(mut self, first: Vec<Action>) {
        let shared = Arc::clone(&self.shared);
        contained(&shared, || self.rounds(first));
    }

    fn rounds(&mut self, first: Vec<Action>) {
        self.perform(first, None, Vec::new());
        let mut events: Vec<Event> = Vec::new();
        let mut actions = Vec::new();
        loop {
            // A clock that is set while nothing else happens is noticed all the same, and what it makes due is done.
            let look = Instant::now() + CLOCK_LOOK_EVERY;
            let wakeup = self.kernel.next_wakeup();
            let wakeup = wakeup.and_then(|at| self.shared.clock.instant(at));
            let deadline = Some(wakeup.map_or(look, |at| at.min(look)));
            self.shared
                .mailbox
                .take(ROUND_EVENTS_MAX, deadline, &mut events);
            if self.shared.mailbox.is_closed() {
                return;
            }
            let began = Instant::now();
            let count = events.len();
            let starts = events
                .iter()
                .filter(|event| matches!(event, Event::Start(_)));
            let starts = starts.count();
            if let Err(failure) = self.round(&mut events, &mut actions) {
                self.shared.fail(&failure);
                return;
            }
            self.shared.gate.judged(starts, self.kernel.room());
            let steps = self.kernel.take_steps(self.shared.followers.is_watched());
            let notary_decided = self.shared.note_round(count, began.elapsed(), &self.kernel);
            let actions = std::mem::take(&mut actions);
            self.perform(actions, notary_decided.then_some(began), steps);
        }
    }

    fn round(
        &mut self,
        events: &mut Vec<Event>,
        actions: &mut Vec<Action>,
    ) -> Result<(), StoreFailure> {
        // Whoever asks in this round where a flow stands follows it already.
        self.kernel.take_steps(self.shared.followers.is_watched());
        let now = self.shared.clock.now();
        for event in events.drain(..) {
            self.kernel.handle(event, now, &self.reads)?;
        }
        self.kernel
            .flush(self.shared.clock.now(), &self.reads, actions)
    }

    /// Performs a round's actions, and tells followers the steps that flows came to. With when the round began, if the notary decided a batch in it.
    fn perform(
        &mut self,
        actions: Vec<Action>,
        mut notary_began: Option<Instant>,
        mut steps: Vec<(FlowId, &'static str)>,
    ) {
        let mut now = Vec::new();
        for action in actions {
            match action {
                Action::Commit {
                    number,
                    batch,
                    then,
                } => {
                    let shared = Arc::clone(&self.shared);
                    let began = Instant::now();
                    let notary_began = notary_began.take();
                    let steps = std::mem::take(&mut steps);
                    shared.metrics.commit_rows.record(batch.writes.len() as u64);
                    shared
                        .metrics
                        .commit_bytes
                        .record(batch.size_bytes() as u64);
                    self.committer
                        .submit(
                            number,
                            Class::Normal,
                            batch,
                            move |number, outcome| match outcome {
                                Ok(()) => contained(&shared, || {
                                    shared.metrics.commit_time.record_time(began.elapsed());
                                    shared.note_notary_batch(notary_began);
                                    shared.followers.publish(&steps);
                                    perform_now(&shared, then);
                                    shared.committed.store(number, Ordering::Release);
                                    shared.mailbox.push(Event::Committed { number });
                                }),
                                Err(failure) => shared.fail(&failure),
                            },
                        );
                }
                action => now.push(action),
            }
        }
        self.shared.followers.publish(&steps);
        // A batch that refuses everything writes nothing.
        self.shared.note_notary_batch(notary_began);
        if !now.is_empty() {
            perform_now(&self.shared, now);
        }
    }
}

/// Runs a part of the node's work. Its panic fails the node as a failed store does, so that no caller waits for ever.
fn contained(shared: &Shared, work: impl FnOnce()) {
    // What a panic leaves half changed is not looked at again: the kernel's thread ends.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        shared.panicked(&*panic);
    }
}

/// Performs actions that need not wait any more.
fn perform_now(shared: &Shared, actions: Vec<Action>) {
    let mut sends = Vec::new();
    let mut replies = Vec::new();
    let mut views = Vec::new();
    let mut look_ups = Vec::new();
    let mut quarantined = Vec::new();
    for action in actions {
        match action {
            Action::Send {
                peer,
                priority,
                bytes,
            } => sends.push((peer, priority, bytes)),
            Action::Reply { token, reply } => replies.push((token, reply)),
            Action::View {
                seq,
                id,
                at,
                changes,
            } => views.push((seq, id, at, changes)),
            Action::Quarantined(state) => quarantined.push(state),
            Action::Refill(request) => shared.view.refill(request),
            Action::LookUp { flow, effect, what } => look_ups.push((flow, effect, what)),
            Action::Scheduled {
                flow,
                name,
                state,
                refusal,
            } => shared.note_scheduled(flow, name, &state, refusal.as_ref()),
            Action::FetchFile { .. }
            | Action::AbandonFile { .. }
            | Action::PermitFile { .. }
            | Action::DropFile { .. } => shared.files.take(action),
            Action::Drained => shared.drained(),
            Action::CutOff { peer, ms } => (shared.cut_off)(peer, Duration::from_millis(ms)),
            Action::Log {
                warning: true,
                code,
                message,
            } => tracing::warn!(code, "{message}"),
            Action::Log {
                warning: false,
                code,
                message,
            } => tracing::info!(code, "{message}"),
            // The kernel nests no commits.
            Action::Commit { .. } => {}
        }
    }
    if !views.is_empty() {
        shared.view.feed(views);
    }
    if !quarantined.is_empty() {
        shared.view.quarantine(quarantined);
    }
    // After what they have to see.
    for (flow, effect, what) in look_ups {
        shared.view.look_up(flow, effect, what);
    }
    if !sends.is_empty() {
        (shared.send)(sends);
    }
    if !replies.is_empty() {
        shared.replies.answer_all(replies);
    }
}
