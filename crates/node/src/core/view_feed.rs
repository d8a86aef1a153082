//! The queue of the view's thread: jobs in memory, and changes to read from the ledger.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flow::FlowId;
use kernel::LookUp;
use kernel::port::StoreFailure;
use ledger::{StateRef, TxId};
use primitives::{Coded, Timestamp};
use tokio::sync::watch;
use vault::{RefillRequest, ViewChange};
use vaultview::ViewError;

use super::start_error::VIEW_FAILED;
use super::view_fill::{FillError, condemn};

/// Maximum number of changes in memory for the view. Further changes are read from the ledger when the view reaches them.
const HELD_CHANGES_MAX: u64 = 20_000;
/// Changes that may wait, in memory or in the ledger, before the node takes no new starts.
pub(super) const LAG_CHANGES_MAX: u64 = 200_000;

/// Time for which changes wait for others, so that they share one transaction of the view. They do not wait while a client follows the
/// view or a reader waits for it.
const LINGER: Duration = Duration::from_millis(50);
/// Number of changes in memory from which the view is updated without delay.
const LINGER_CHANGES_MAX: u64 = 1_000;

/// The changes of one transaction.
pub(super) type Fed = (u64, TxId, Timestamp, Vec<ViewChange>);

/// Work for the thread.
pub(super) enum Job {
    Feed(Vec<Fed>),
    /// Read the ledger up to this position; this number of changes is being applied.
    Follow {
        upto: u64,
        changes: u64,
    },
    /// States in quarantine, which were fed before.
    Quarantine(Vec<StateRef>),
    Refill(RefillRequest),
    LookUp(FlowId, u32, LookUp),
    /// Open the view again: a query met this failure.
    Reopen(ViewFailure),
    Stop,
}

/// A point in the stream of changes that feeds the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FedPoint {
    /// A position in the ledger.
    pub(super) seq: u64,
    /// A number of lists of states in quarantine.
    quarantines: u64,
}

/// Why the view is not updated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ViewFailure {
    /// The code of the failure.
    pub(super) code: &'static str,
    /// The failed operation and its error.
    pub(super) message: String,
    /// Whether the view contradicts the ledger or its own form. Only filling it again helps.
    pub(super) is_damage: bool,
}

impl From<StoreFailure> for ViewFailure {
    fn from(failure: StoreFailure) -> Self {
        Self {
            code: failure.code,
            message: failure.message,
            is_damage: false,
        }
    }
}

impl From<ViewError> for ViewFailure {
    fn from(error: ViewError) -> Self {
        condemn(&error);
        Self {
            code: error.code(),
            message: error.to_string(),
            is_damage: matches!(error, ViewError::Damaged { .. }),
        }
    }
}

impl From<FillError> for ViewFailure {
    fn from(error: FillError) -> Self {
        match error {
            FillError::Store(failure) => failure.into(),
            FillError::View(error) => error.into(),
        }
    }
}

/// The way to the view's thread.
pub(super) struct ViewFeed {
    jobs: Mutex<VecDeque<Job>>,
    arrived: Condvar,
    /// The last position fed. The view shows everything acknowledged once it has reached this position.
    fed_seq: AtomicU64,
    pub(super) waiting_changes: AtomicU64,
    /// Those of them that are in memory.
    pub(super) held_changes: AtomicU64,
    /// Lists of states in quarantine that were handed on, and how many of them the view shows.
    quarantines_fed: AtomicU64,
    quarantines_shown: AtomicU64,
    /// Whether the view shows all states in quarantine of the lists before the present one. A view that was filled again does not at first.
    quarantine_is_whole: AtomicBool,
    failed: Mutex<Option<ViewFailure>>,
    /// A query asked for the view to be opened again.
    reopening: AtomicBool,
    stopping: AtomicBool,
    reached: watch::Sender<u64>,
    linger: Duration,
}

impl ViewFeed {
    pub(super) fn new(ledger_end: u64) -> Self {
        Self {
            jobs: Mutex::default(),
            arrived: Condvar::new(),
            fed_seq: AtomicU64::new(ledger_end),
            waiting_changes: AtomicU64::new(0),
            held_changes: AtomicU64::new(0),
            quarantines_fed: AtomicU64::new(0),
            quarantines_shown: AtomicU64::new(0),
            quarantine_is_whole: AtomicBool::new(false),
            failed: Mutex::default(),
            reopening: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            reached: watch::Sender::new(0),
            linger: LINGER,
        }
    }

    pub(super) fn feed(&self, fed: Vec<Fed>) {
        let changes = count(&fed);
        let Some((upto, ..)) = fed.last() else { return };
        let upto = *upto;
        self.waiting_changes.fetch_add(changes, Ordering::Relaxed);
        self.fed_seq.fetch_max(upto, Ordering::Release);
        let mut jobs = self.jobs();
        if let Some(Job::Follow {
            upto: end,
            changes: more,
        }) = jobs.back_mut()
        {
            *end = upto;
            *more += changes;
            return;
        }
        let full = self.held_changes.load(Ordering::Relaxed) + changes > HELD_CHANGES_MAX;
        if full {
            self.add(jobs, Job::Follow { upto, changes });
        } else {
            self.held_changes.fetch_add(changes, Ordering::Relaxed);
            self.add(jobs, Job::Feed(fed));
        }
    }

    /// Hands on states in quarantine. They are few: each notary reports a state once.
    pub(super) fn quarantine(&self, states: Vec<StateRef>) {
        self.quarantines_fed.fetch_add(1, Ordering::Release);
        self.push(Job::Quarantine(states));
    }

    /// Notes that the view shows one more list of states in quarantine.
    pub(super) fn quarantine_shown(&self) {
        self.quarantines_shown.fetch_add(1, Ordering::Release);
        self.reached.send_modify(|_| {});
    }

    /// Notes that the view shows the states in quarantine as the ledger has them, or no longer does.
    pub(super) fn set_quarantine_whole(&self, is_whole: bool) {
        self.quarantine_is_whole.store(is_whole, Ordering::Release);
        self.reached.send_modify(|_| {});
    }

    /// The point that the view has to reach to show everything acknowledged so far.
    pub(super) fn fed(&self) -> FedPoint {
        FedPoint {
            seq: self.fed_seq(),
            quarantines: self.quarantines_fed.load(Ordering::Acquire),
        }
    }

    /// Returns whether a view at a position shows everything up to a point.
    pub(super) fn shows(&self, upto: u64, point: FedPoint) -> bool {
        upto >= point.seq
            && self.quarantines_shown.load(Ordering::Acquire) >= point.quarantines
            && self.quarantine_is_whole.load(Ordering::Acquire)
    }

    pub(super) fn refill(&self, request: RefillRequest) {
        self.push(Job::Refill(request));
    }

    /// A question of a flow, answered after all that was fed before.
    pub(super) fn look_up(&self, flow: FlowId, effect: u32, what: LookUp) {
        self.push(Job::LookUp(flow, effect, what));
    }

    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.push(Job::Stop);
        self.arrived.notify_all();
    }

    /// Has the view opened again after a query met a failure.
    pub(super) fn reopen(&self, failure: ViewFailure) {
        if !self.reopening.swap(true, Ordering::AcqRel) {
            self.push(Job::Reopen(failure));
        }
    }

    /// Waits so long; `true` as soon as the thread is to stop.
    pub(super) fn stops_within(&self, pause: Duration) -> bool {
        let jobs = self.jobs();
        let goes_on = |_: &mut VecDeque<Job>| !self.stopping.load(Ordering::Acquire);
        drop(self.arrived.wait_timeout_while(jobs, pause, goes_on));
        self.stopping.load(Ordering::Acquire)
    }

    /// The position that the view has to reach to show everything acknowledged so far.
    pub(super) fn fed_seq(&self) -> u64 {
        self.fed_seq.load(Ordering::Acquire)
    }

    /// The position that the view has reached, for those who follow it. Changes do not wait for others while the receiver exists.
    pub(super) fn reached(&self) -> watch::Receiver<u64> {
        let reached = self.reached.subscribe();
        // The thread either sees the receiver under the lock, or waits already.
        drop(self.jobs());
        self.arrived.notify_one();
        reached
    }

    /// The view has reached a position.
    pub(super) fn come_to(&self, upto: u64) {
        self.reached.send_replace(upto);
    }

    /// Whether new work has to wait for the view.
    pub(super) fn is_behind(&self) -> bool {
        self.waiting_changes.load(Ordering::Relaxed) > LAG_CHANGES_MAX
    }

    /// The reason why the view is not updated, if it is not.
    pub(super) fn failure(&self) -> Option<ViewFailure> {
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn jobs(&self) -> MutexGuard<'_, VecDeque<Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job) {
        self.add(self.jobs(), job);
    }

    fn add(&self, mut jobs: MutexGuard<'_, VecDeque<Job>>, job: Job) {
        let wakes = jobs.is_empty() || !self.may_linger(&job);
        jobs.push_back(job);
        drop(jobs);
        if wakes {
            self.arrived.notify_one();
        }
    }

    /// Returns whether the thread may leave this job for a while.
    fn may_linger(&self, job: &Job) -> bool {
        matches!(job, Job::Feed(_))
            && self.held_changes.load(Ordering::Relaxed) < LINGER_CHANGES_MAX
            && self.reached.receiver_count() == 0
    }

    /// Waits for jobs and takes all. Changes wait for others first.
    pub(super) fn take(&self, into: &mut VecDeque<Job>) {
        let mut jobs = self.jobs();
        while jobs.is_empty() {
            let waited = self.arrived.wait(jobs);
            jobs = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let end = Instant::now() + self.linger;
        while jobs.iter().all(|job| self.may_linger(job)) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.arrived.wait_timeout(jobs, left);
            jobs = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(into, &mut jobs);
    }

    /// Notes a failure of the view. Only a new failure is logged as an error.
    pub(super) fn fail(&self, failure: ViewFailure) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.as_ref() == Some(&failure) {
            tracing::debug!(code = failure.code, "the vault's view still stands still");
        } else {
            tracing::error!(
                code = failure.code,
                hint = VIEW_FAILED.action,
                "the vault's view stands still: {}",
                failure.message
            );
        }
        *failed = Some(failure);
        drop(failed);
        // Callers that wait for the view check for a failure.
        self.reached.send_modify(|_| {});
    }

    /// Notes that the view is whole and shows everything fed before the failure.
    pub(super) fn recovered(&self) {
        self.reopening.store(false, Ordering::Release);
        let failed = self
            .failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if failed.is_some() {
            tracing::info!("the vault's view follows the ledger again");
        }
    }
}

/// The failure of a view that a query found damaged.
pub(super) fn found_damaged() -> ViewFailure {
    ViewFailure {
        code: VIEW_FAILED.code,
        message: "a query found the view damaged".to_owned(),
        is_damage: false,
    }
}

/// Returns the number of changes.
pub(super) fn count(fed: &[Fed]) -> u64 {
    fed.iter()
        .map(|(_, _, _, changes)| changes.len() as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    fn fed(changes: usize) -> Vec<Fed> {
        let id = TxId::from_hash(Hash::plain(b"transaction"));
        let consumed = |index| {
            ViewChange::Consumed(vault::Consumed {
                seq: 1,
                reference: StateRef { tx: id, index },
            })
        };
        let changes = (0..changes as u32).map(consumed).collect();
        vec![(1, id, Timestamp::from_ms(0), changes)]
    }

    #[test]
    fn few_changes_without_a_reader_may_linger() {
        let few = || Job::Feed(fed(1));
        let lookup = LookUp::Consumed(Vec::new());
        let cases = [
            ("few changes", few(), 1, false, true),
            (
                "many changes",
                few(),
                LINGER_CHANGES_MAX as usize,
                false,
                false,
            ),
            ("a follower", few(), 1, true, false),
            ("a quarantine", Job::Quarantine(Vec::new()), 1, false, false),
            (
                "a look-up",
                Job::LookUp(FlowId([1; 16]), 1, lookup),
                1,
                false,
                false,
            ),
            ("the end", Job::Stop, 1, false, false),
        ];
        for (name, job, held, is_followed, expected) in cases {
            let feed = ViewFeed::new(0);
            let follower = is_followed.then(|| feed.reached());
            feed.feed(fed(held));
            assert_eq!(feed.may_linger(&job), expected, "{name}");
            drop(follower);
        }
    }

    /// The taking thread waits for an hour, so a wake-up that is lost hangs the test.
    #[test]
    fn a_thread_that_lingers_is_woken() {
        type Wake = fn(&ViewFeed) -> Option<watch::Receiver<u64>>;
        let many = |feed: &ViewFeed| {
            feed.feed(fed(LINGER_CHANGES_MAX as usize));
            None
        };
        let quarantine = |feed: &ViewFeed| {
            feed.quarantine(Vec::new());
            None
        };
        let stop = |feed: &ViewFeed| {
            feed.stop();
            None
        };
        let cases: [(&str, Wake, usize); 4] = [
            ("a follower", |feed| Some(feed.reached()), 1),
            ("many changes", many, 2),
            ("a quarantine", quarantine, 2),
            ("the end", stop, 2),
        ];
        for (name, wake, expected) in cases {
            let mut feed = ViewFeed::new(0);
            feed.linger = Duration::from_secs(3_600);
            std::thread::scope(|scope| {
                let taken = scope.spawn(|| {
                    let mut jobs = VecDeque::new();
                    feed.take(&mut jobs);
                    jobs.len()
                });
                feed.feed(fed(1));
                let follower = wake(&feed);
                assert_eq!(taken.join().expect("no panic"), expected, "{name}");
                drop(follower);
            });
        }
    }

    #[test]
    fn changes_that_nobody_reads_are_taken_in_the_end() {
        let mut feed = ViewFeed::new(0);
        feed.linger = Duration::from_millis(1);
        feed.feed(fed(1));
        let mut jobs = VecDeque::new();
        feed.take(&mut jobs);
        assert_eq!(jobs.len(), 1);
    }
}
