//! A runtime with a core that records its calls, on a real store.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use ::runtime::metrics::{Registry, Unit};
use ::runtime::{
    Commit, Core, Handle, Messages, Output, Parts, QUERIES_MAX, RoundMetrics, Running, Shell,
    Stopped, Waiters, start,
};
use primitives::ErrorInfo;
use primitives::storage::{FailureKind, Habit, Reads, StoreFailure, TableSet, WriteBatch};
use store::{Committer, CommitterOptions, Embedded, Options};
use tokio::sync::oneshot;

/// Rows at which a round of the test's core is full.
const FULL_ROWS: usize = 3;
/// Longer than any of these tests takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The only table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Rows;

impl TableSet for Rows {
    const ALL: &'static [Self] = &[Rows];
    const TITLE: &'static str = "runtime test store";

    fn number(self) -> u8 {
        0
    }

    fn name(self) -> &'static str {
        "rows"
    }

    fn habit(self) -> Habit {
        Habit::Passing
    }
}

/// An event of the test's core.
enum Event {
    /// Writes this row, and reports it once it is durable.
    Write(u32),
    /// Reports a number without a commit.
    Report(u32),
    /// Reports the number of answered queries.
    ReportAnswers,
    /// Answers this ticket once a row is durable.
    Answer(u64),
    /// A message from a peer, with this number of bytes.
    Bytes(usize),
    /// Reports that this instant has passed.
    Deadline(Instant),
    /// Waits for the test before the round goes on.
    Hold(Receiver<()>),
    /// Writes a row that the store refuses.
    WriteTooMuch,
    /// Reports that the store cannot be read.
    Unreadable,
    Panic,
}

struct TestMessages;

impl Messages for TestMessages {
    type Event = Event;
    /// Asks for the number of handled events.
    type Query = oneshot::Sender<usize>;

    fn peer_bytes(event: &Event) -> usize {
        match event {
            Event::Bytes(bytes) => *bytes,
            _ => 0,
        }
    }
}

/// A report of the shell.
#[derive(Debug, PartialEq)]
enum Report {
    /// A row was durable when its action was performed.
    Durable(u32),
    AtOnce(u32),
    Failed(&'static str),
}

#[derive(Default)]
struct TestActions {
    written: Vec<u32>,
    reported: Vec<u32>,
    answered: Vec<u64>,
}

#[derive(Default)]
struct TestCore {
    handled: usize,
    answers: u32,
    commits: u64,
    durable: Vec<u64>,
    batch: WriteBatch<Rows>,
    then: TestActions,
    at_once: Vec<u32>,
    deadline: Option<Instant>,
}

fn failure(code: &'static str) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Access,
        code,
        message: "a test".into(),
        hint: "none",
    }
}

impl Core for TestCore {
    type Table = Rows;
    type Messages = TestMessages;
    type Actions = TestActions;

    const THREAD: &'static str = "test-core";
    const SUBJECT: &'static str = "test";
    const PANICKED: ErrorInfo = ErrorInfo {
        code: "test.panicked",
        cause: "A test.",
        action: "None.",
    };

    fn begin_round(&mut self) {
        assert!(self.batch.is_empty(), "the last round was taken");
    }

    fn handle(&mut self, event: Event) -> Result<(), StoreFailure> {
        self.handled += 1;
        match event {
            Event::Write(row) => {
                self.batch.put(Rows, row.to_be_bytes(), [1]);
                self.then.written.push(row);
            }
            Event::Report(number) => self.at_once.push(number),
            Event::ReportAnswers => self.at_once.push(self.answers),
            Event::Answer(ticket) => {
                self.batch.put(Rows, ticket.to_be_bytes(), [1]);
                self.then.answered.push(ticket);
            }
            Event::Bytes(_) => {}
            Event::Deadline(at) => self.deadline = Some(at),
            Event::Hold(go) => drop(go.recv()),
            Event::WriteTooMuch => self.batch.put(Rows, vec![0; 1 << 20], [1]),
            Event::Unreadable => return Err(failure("test.unreadable")),
            Event::Panic => panic!("out of step"),
        }
        Ok(())
    }

    fn committed(&mut self, number: u64) -> Result<(), StoreFailure> {
        assert!(number <= self.commits, "commit {number} was submitted");
        self.durable.push(number);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.batch.writes.len() >= FULL_ROWS
    }

    fn end_round(&mut self) -> Result<Option<u64>, StoreFailure> {
        assert!(self.batch.writes.len() <= FULL_ROWS, "the round was full");
        if let Some(at) = self.deadline.take_if(|at| *at <= Instant::now()) {
            assert!(at <= Instant::now(), "not before its time");
            self.at_once.push(u32::MAX);
        }
        Ok(Some(self.handled as u64))
    }

    fn take_output(&mut self, _began: Instant) -> Output<Self> {
        let mut output = Output::default();
        if !self.batch.is_empty() {
            self.commits += 1;
            output.commit = Some(Commit {
                number: self.commits,
                batch: std::mem::take(&mut self.batch),
                actions: std::mem::take(&mut self.then),
            });
        }
        let reported = std::mem::take(&mut self.at_once);
        output.at_once = Some(TestActions {
            reported,
            ..TestActions::default()
        });
        output
    }

    fn answer(&mut self, query: oneshot::Sender<usize>) {
        self.answers += 1;
        // The caller may be gone.
        let _ = query.send(self.handled);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

struct TestShell {
    store: Embedded<Rows>,
    reports: Mutex<Sender<Report>>,
    waiters: Waiters<oneshot::Sender<()>>,
    taken: AtomicUsize,
}

impl TestShell {
    fn report(&self, report: Report) {
        // The test may have ended.
        let _ = self.reports.lock().expect("no panic").send(report);
    }
}

impl Shell<TestCore> for TestShell {
    fn perform(&self, actions: TestActions) {
        for row in actions.written {
            let stored = self.store.get(Rows, &row.to_be_bytes()).expect("a read");
            assert!(stored.is_some(), "row {row} is durable before its action");
            self.report(Report::Durable(row));
        }
        for number in actions.reported {
            self.report(Report::AtOnce(number));
        }
        for ticket in actions.answered {
            let waiter = self.waiters.take(ticket).expect("a caller waits");
            waiter.send(()).expect("the caller is there");
        }
    }

    fn failed(&self, failure: &StoreFailure) {
        drop(self.waiters.close());
        self.report(Report::Failed(failure.code));
    }

    fn taken(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }
}

struct Rig {
    handle: Handle<TestMessages>,
    shell: Arc<TestShell>,
    reports: Receiver<Report>,
    running: Running<TestCore>,
    metrics: RoundMetrics,
    _folder: tempfile::TempDir,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Embedded::open(folder.path(), &Options::default()).expect("a store");
        let committer = Committer::start(store.clone(), CommitterOptions::default());
        let (reports, received) = channel();
        let handle = Handle::new(1_000);
        let shell = Arc::new(TestShell {
            store,
            reports: Mutex::new(reports),
            waiters: Waiters::default(),
            taken: AtomicUsize::new(0),
        });
        let registry = Registry::default();
        let histogram = |name, unit| registry.histogram(name, "A test.", &[], unit);
        let metrics = RoundMetrics {
            round_events: histogram("round_events", Unit::Count),
            round_time: histogram("round_seconds", Unit::Seconds),
            commit_rows: histogram("commit_rows", Unit::Count),
            commit_bytes: histogram("commit_bytes", Unit::Bytes),
            commit_time: histogram("commit_seconds", Unit::Seconds),
            commit_failures: registry.counter("failures_total", "A test.", &[]),
        };
        let running = start(Parts {
            core: TestCore::default(),
            first: Output::default(),
            handle: handle.clone(),
            shell: Arc::clone(&shell),
            committer: committer.expect("a committer"),
            metrics: metrics.clone(),
        });
        Self {
            handle,
            shell,
            reports: received,
            running: running.expect("a thread"),
            metrics,
            _folder: folder,
        }
    }

    fn next(&self) -> Report {
        self.reports.recv_timeout(PATIENCE).expect("a report")
    }

    /// Blocks the core's thread until the sender is dropped or used.
    fn hold(&self) -> Sender<()> {
        let (go, held) = channel();
        let before = self.shell.taken.load(Ordering::Relaxed);
        self.handle.tell(Event::Hold(held));
        let deadline = Instant::now() + PATIENCE;
        while self.shell.taken.load(Ordering::Relaxed) == before {
            assert!(Instant::now() < deadline, "the core takes its messages");
            std::thread::yield_now();
        }
        go
    }

    /// Waits for a failure: no caller waits afterwards, and nothing more is performed.
    async fn fails_with(self, code: &'static str) {
        let (sender, waiting) = oneshot::channel();
        // The failure may have closed the waiters already.
        drop(self.shell.waiters.register([(7, sender)]));
        assert_eq!(self.next(), Report::Failed(code));
        let failed = tokio::time::timeout(PATIENCE, self.handle.failed()).await;
        assert_eq!(failed.expect("a failure").code, code);
        assert!(waiting.await.is_err(), "the caller hears of the failure");
        assert!(self.handle.is_stopping());
        self.handle.tell_all([Event::Report(1), Event::Write(1)]);
        let answer = tokio::time::timeout(PATIENCE, self.handle.ask(|to| to)).await;
        assert_eq!(answer.expect("an answer"), Err(Stopped));
        self.running.stop(PATIENCE, || ()).await;
        assert!(self.reports.try_recv().is_err(), "nothing is performed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_is_followed_by_a_bounded_number_of_queries() {
    let rig = Rig::new();
    let go = rig.hold();
    {
        let asking = || Box::pin(rig.handle.ask(|to| to));
        let mut asked: Vec<_> = (0..3 * QUERIES_MAX).map(|_| asking()).collect();
        let mut context = Context::from_waker(Waker::noop());
        for ask in &mut asked {
            assert!(ask.as_mut().poll(&mut context).is_pending());
        }
        // The callers go. Their queries that have a place stay.
    }
    rig.handle.tell(Event::ReportAnswers);
    go.send(()).expect("the core waits");
    assert_eq!(rig.next(), Report::AtOnce(0));
    rig.handle.tell(Event::ReportAnswers);
    assert_eq!(rig.next(), Report::AtOnce(QUERIES_MAX as u32));
    // The places are free again.
    for _ in 0..2 * QUERIES_MAX {
        rig.handle.ask(|to| to).await.expect("an answer");
    }
    rig.running.stop(PATIENCE, || ()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_beside_the_core_stops_it() {
    let rig = Rig::new();
    let beside = rig.handle.clone();
    let thread = std::thread::spawn(move || {
        beside.guard(TestCore::PANICKED, "side", || ());
        assert_eq!(beside.failure(), None, "work that ends is no failure");
        beside.guard(TestCore::PANICKED, "side", || panic!("out of step"));
    });
    thread.join().expect("contained");
    let failure = rig.handle.failure().expect("a failure");
    assert_eq!(failure.message, "the node's side met a bug: out of step");
    rig.fails_with("test.panicked").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_follow_their_events_in_order() {
    let rig = Rig::new();
    rig.handle.tell_all((0..500).map(Event::Write));
    for row in 500..600 {
        rig.handle.tell(Event::Write(row));
    }
    for row in 0..600 {
        assert_eq!(rig.next(), Report::Durable(row));
    }
    assert_eq!(rig.handle.ask(|to| to).await, Ok(600));
    assert!(rig.metrics.round_events.count() > 0);
    assert!(rig.metrics.commit_time.count() > 0);
    assert_eq!(
        rig.metrics.commit_rows.count(),
        rig.metrics.commit_bytes.count()
    );
    rig.running.stop(PATIENCE, || ()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_round_leaves_its_messages_for_the_next_one() {
    let rig = Rig::new();
    let go = rig.hold();
    rig.handle.tell_all((0..10).map(Event::Write));
    drop(go);
    for row in 0..10 {
        assert_eq!(rig.next(), Report::Durable(row));
    }
    // No further message wakes the core.
    assert_eq!(
        rig.metrics.commit_rows.count(),
        10u64.div_ceil(FULL_ROWS as u64)
    );
    rig.running.stop(PATIENCE, || ()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_without_a_commit_do_not_wait() {
    let rig = Rig::new();
    rig.handle.tell_all([Event::Report(1), Event::Report(2)]);
    assert_eq!(rig.next(), Report::AtOnce(1));
    assert_eq!(rig.next(), Report::AtOnce(2));
    assert_eq!(rig.metrics.commit_rows.count(), 0);
    rig.running.stop(PATIENCE, || ()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_is_answered_after_its_commit() {
    let rig = Rig::new();
    let (sender, answer) = oneshot::channel();
    assert!(rig.shell.waiters.register([(3, sender)]).is_ok());
    rig.handle.tell(Event::Answer(3));
    let answer = tokio::time::timeout(PATIENCE, answer).await;
    answer.expect("in time").expect("an answer");
    rig.running.stop(PATIENCE, || ()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_refuses_until_the_core_takes() {
    let rig = Rig::new();
    let go = rig.hold();
    assert!(!rig.handle.is_full());
    rig.handle.tell(Event::Bytes(1_000));
    assert!(rig.handle.is_full());
    go.send(()).expect("the core waits");
    // The answer follows the round that took the bytes.
    let answer = rig.handle.ask(|to| to).await;
    assert_eq!(answer, Ok(2));
    assert!(!rig.handle.is_full());
    rig.running.stop(PATIENCE, || ()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_wakes_the_core() {
    let rig = Rig::new();
    let at = Instant::now() + Duration::from_millis(20);
    rig.handle.tell(Event::Deadline(at));
    assert_eq!(rig.next(), Report::AtOnce(u32::MAX));
    assert!(Instant::now() >= at);
    rig.running.stop(PATIENCE, || ()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_commit_stops_the_core() {
    let rig = Rig::new();
    rig.handle.tell(Event::WriteTooMuch);
    let failures = rig.metrics.commit_failures.clone();
    rig.fails_with("store.bad_row").await;
    assert_eq!(failures.get(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_read_stops_the_core_without_a_commit() {
    let rig = Rig::new();
    let go = rig.hold();
    rig.handle.tell_all([Event::Write(1), Event::Unreadable]);
    go.send(()).expect("the core waits");
    let store = rig.shell.store.clone();
    rig.fails_with("test.unreadable").await;
    let row = store.get(Rows, &1u32.to_be_bytes()).expect("a read");
    assert_eq!(row, None, "the round of the failure is not written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_stops_the_core() {
    let rig = Rig::new();
    rig.handle.tell(Event::Panic);
    let failures = rig.metrics.commit_failures.clone();
    let handle = rig.handle.clone();
    rig.fails_with("test.panicked").await;
    let failure = handle.failure().expect("a failure");
    assert_eq!(failure.message, "the node's test met a bug: out of step");
    assert_eq!(failures.get(), 0, "the store did not fail");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_completes_submitted_commits() {
    let rig = Rig::new();
    rig.handle.tell(Event::Write(1));
    assert_eq!(rig.handle.ask(|to| to).await, Ok(1));
    let (ended, end) = channel();
    rig.running
        .stop(PATIENCE, move || ended.send(()).expect("the test waits"))
        .await;
    end.try_recv().expect("the threads have ended");
    assert_eq!(rig.reports.try_recv(), Ok(Report::Durable(1)));
    assert_eq!(rig.handle.ask(|to| to).await, Err(Stopped));
    assert_eq!(rig.handle.failure(), None);
}
