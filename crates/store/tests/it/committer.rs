//! Group commit: order, grouping, fairness, refusal.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kernel::port::{FailureKind, StoreFailure, Table, WriteBatch};
use primitives::storage::Reads;
use store::{
    BehindServer, CachePosition, ChangedKey, Class, CommitHandle, CommitServer, Committer,
    CommitterOptions, Embedded, Options, POSITION_KEY, ServerCommit, decode_commit, read_position,
};

use crate::workload;
use crate::workload::tiny;

struct Rig {
    // Dropped first.
    committer: Committer<Table>,
    store: Embedded<Table>,
    _folder: tempfile::TempDir,
}

fn rig(options: CommitterOptions) -> Rig {
    let folder = workload::folder();
    let store = Embedded::open(folder.path(), &tiny()).expect("opens");
    let committer = Committer::start(store.clone(), options).expect("starts");
    Rig {
        committer,
        store,
        _folder: folder,
    }
}

fn put(key: u64, bytes: usize) -> WriteBatch {
    let mut batch = WriteBatch::default();
    batch.put(Table::Ledger, key.to_be_bytes(), vec![1; bytes]);
    batch
}

type Outcome = (u64, Result<(), StoreFailure>);

fn submit(
    handle: &CommitHandle<Table>,
    number: u64,
    class: Class,
    batch: WriteBatch,
    to: &Sender<Outcome>,
) {
    let to = to.clone();
    handle.submit(number, class, batch, move |number, outcome| {
        to.send((number, outcome)).expect("the test listens")
    });
}

/// Holds the commit thread inside a completion until the returned sender is used or dropped.
fn hold(handle: &CommitHandle<Table>) -> Sender<()> {
    let (release, held): (Sender<()>, Receiver<()>) = channel();
    let (inside, entered) = channel();
    handle.submit(0, Class::Normal, WriteBatch::default(), move |_, _| {
        inside.send(()).expect("the test listens");
        // Ends when the sender is dropped too.
        let _ = held.recv();
    });
    entered.recv().expect("entered");
    release
}

#[test]
fn what_queued_meanwhile_is_one_commit_completed_in_order() {
    let rig = rig(CommitterOptions::default());
    let handle = rig.committer.handle();
    let (sender, receiver) = channel();
    let release = hold(&handle);
    for number in 1..=20 {
        let batch = if number % 4 == 0 {
            WriteBatch::default()
        } else {
            put(number, 10)
        };
        submit(&handle, number, Class::Normal, batch, &sender);
    }
    drop(release);
    let numbers: Vec<u64> = receiver
        .iter()
        .take(20)
        .map(|(number, outcome)| {
            outcome.expect("durable");
            number
        })
        .collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    let totals = handle.stats().totals();
    assert_eq!((totals.commits, totals.rows, totals.failures), (1, 15, 0));
    assert_eq!(totals.rows_per_commit.quantile_upper(500), 16);
    assert_eq!(totals.sync_us.count(), 1);
    assert!(
        rig.store
            .get(Table::Ledger, &19u64.to_be_bytes())
            .expect("readable")
            .is_some()
    );
}

#[test]
fn empty_submissions_alone_need_no_commit() {
    let rig = rig(CommitterOptions::default());
    let handle = rig.committer.handle();
    handle
        .commit(Class::Normal, WriteBatch::default())
        .expect("done");
    handle
        .commit(Class::Bulk, WriteBatch::default())
        .expect("done");
    assert_eq!(handle.stats().totals().commits, 0);
}

#[test]
fn bulk_takes_half_while_others_wait_and_all_of_it_otherwise() {
    let rig = rig(CommitterOptions {
        group_bytes_max: 1080,
        ..CommitterOptions::default()
    });
    let handle = rig.committer.handle();
    let order = Arc::new(Mutex::new(Vec::new()));
    let release = hold(&handle);
    let (sender, receiver) = channel();
    // Each has 108 bytes: ten fill a commit.
    for (numbers, class) in [(100..120, Class::Bulk), (1..11, Class::Normal)] {
        for number in numbers {
            let (order, sender, stats) = (Arc::clone(&order), sender.clone(), handle.clone());
            handle.submit(number, class, put(number, 100), move |number, _| {
                order
                    .lock()
                    .expect("whole")
                    .push((stats.stats().totals().commits, number));
                sender.send(()).expect("the test listens");
            });
        }
    }
    drop(release);
    receiver.iter().take(30).for_each(drop);
    let by_commit = |commit: u64| -> Vec<u64> {
        order
            .lock()
            .expect("whole")
            .iter()
            .filter(|(at, _)| *at == commit)
            .map(|(_, number)| *number)
            .collect()
    };
    assert_eq!(by_commit(1), [1, 2, 3, 4, 5, 100, 101, 102, 103, 104]);
    assert_eq!(by_commit(2), [6, 7, 8, 9, 10, 105, 106, 107, 108, 109]);
    assert_eq!(by_commit(3), (110..120).collect::<Vec<_>>());
}

#[test]
fn a_full_queue_holds_the_submitter_until_there_is_room() {
    let rig = rig(CommitterOptions {
        queue_bytes_max: 300,
        ..CommitterOptions::default()
    });
    let handle = rig.committer.handle();
    let (sender, receiver) = channel();
    let release = hold(&handle);
    let submitter = std::thread::spawn({
        let handle = handle.clone();
        move || {
            (1..=50).for_each(|number| {
                submit(&handle, number, Class::Normal, put(number, 100), &sender)
            })
        }
    });
    // It can only have come as far as the bound; then it waits.
    while handle.queued_bytes() < 300 {
        std::thread::yield_now();
    }
    assert!(handle.queued_bytes() <= 300 + 108);
    drop(release);
    assert_eq!(
        receiver
            .iter()
            .take(50)
            .filter(|(_, outcome)| outcome.is_ok())
            .count(),
        50
    );
    submitter.join().expect("no panic");
}

#[test]
fn dropping_finishes_what_is_queued_then_refuses() {
    let rig = rig(CommitterOptions::default());
    let handle = rig.committer.handle();
    let (sender, receiver) = channel();
    let release = hold(&handle);
    (1..=5).for_each(|number| submit(&handle, number, Class::Normal, put(number, 10), &sender));
    drop(release);
    drop(rig.committer);
    assert_eq!(
        receiver
            .try_iter()
            .filter(|(_, outcome)| outcome.is_ok())
            .count(),
        5
    );
    submit(&handle, 6, Class::Normal, put(6, 10), &sender);
    let (number, outcome) = receiver.recv().expect("answered");
    let failure = outcome.expect_err("closed");
    assert_eq!((number, failure.code), (6, "store.closed"));
    assert!(!failure.hint.is_empty());
    assert_eq!(
        handle.failure().map(|failure| failure.code),
        Some("store.closed")
    );
}

#[test]
fn a_completion_that_panics_harms_only_itself() {
    let rig = rig(CommitterOptions::default());
    let handle = rig.committer.handle();
    handle.submit(1, Class::Normal, put(1, 10), |_, _| {
        panic!("a bug of the caller")
    });
    handle.commit(Class::Normal, put(2, 10)).expect("durable");
}

#[test]
fn a_bad_row_is_refused_alone() {
    let rig = rig(CommitterOptions::default());
    let handle = rig.committer.handle();
    let (sender, receiver) = channel();
    let release = hold(&handle);
    let mut bad = WriteBatch::default();
    bad.put(Table::Ledger, Vec::new(), "no key");
    submit(&handle, 1, Class::Normal, put(1, 10), &sender);
    submit(&handle, 2, Class::Normal, bad, &sender);
    submit(&handle, 3, Class::Normal, put(3, 10), &sender);
    drop(release);
    let mut outcomes: Vec<(u64, &str)> = receiver
        .iter()
        .take(3)
        .map(|(number, outcome)| (number, outcome.err().map_or("", |failure| failure.code)))
        .collect();
    outcomes.sort();
    assert_eq!(outcomes, [(1, ""), (2, "store.bad_row"), (3, "")]);
    assert_eq!(handle.failure(), None);
}

/// A server that confirms when the test says so.
#[derive(Default)]
struct HeldServer {
    sent: Mutex<Vec<ServerCommit>>,
    applied: Mutex<Vec<u64>>,
}

impl CommitServer for HeldServer {
    fn send(&self, commit: ServerCommit) {
        self.sent.lock().expect("whole").push(commit);
    }

    fn applied(&self, number: u64, keys: Vec<ChangedKey>) {
        assert!(!keys.is_empty());
        self.applied.lock().expect("whole").push(number);
    }
}

impl HeldServer {
    /// Waits until this many commits have come that are not answered.
    fn wait_for(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.sent.lock().expect("whole").len() < count {
            assert!(Instant::now() < deadline, "{count} commits are sent");
            std::thread::yield_now();
        }
    }

    fn answer(&self, outcome: Result<(), StoreFailure>) -> u64 {
        let commit = self.sent.lock().expect("whole").remove(0);
        let batch = decode_commit::<Table>(commit.number, &commit.rows).expect("intact");
        assert!(!batch.is_empty());
        (commit.confirm)(outcome);
        commit.number
    }
}

fn behind(in_flight_max: usize) -> (Rig, Arc<HeldServer>) {
    let folder = workload::folder();
    let options = Options {
        sync_commits: false,
        ..tiny()
    };
    let store = Embedded::open(folder.path(), &options).expect("opens");
    let server = Arc::new(HeldServer::default());
    let committer = Committer::start_behind(
        store.clone(),
        CommitterOptions {
            // Each submission is a commit of its own.
            group_bytes_max: 1,
            ..CommitterOptions::default()
        },
        BehindServer {
            server: Arc::clone(&server) as Arc<dyn CommitServer>,
            database: [7; 16],
            last: 4,
            fence: 2,
            position: Table::Meta,
            in_flight_max,
        },
    );
    let rig = Rig {
        committer: committer.expect("starts"),
        store,
        _folder: folder,
    };
    (rig, server)
}

fn refusal() -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Access,
        code: "database.deposed",
        message: "a test".into(),
        hint: "none",
    }
}

#[test]
fn nothing_completes_before_the_server_has_it() {
    let (rig, server) = behind(2);
    let handle = rig.committer.handle();
    let (sender, receiver) = channel();
    for number in 1..=3 {
        submit(&handle, number, Class::Normal, put(number, 10), &sender);
    }
    submit(&handle, 4, Class::Normal, WriteBatch::default(), &sender);
    server.wait_for(2);
    assert_eq!(server.sent.lock().expect("whole").len(), 2, "the maximum");
    assert!(receiver.try_recv().is_err(), "nothing is confirmed");
    for (number, commit) in [(1, 5), (2, 6), (3, 7)] {
        server.wait_for(1);
        assert_eq!(server.answer(Ok(())), commit);
        assert_eq!(receiver.recv().expect("an answer"), (number, Ok(())));
        let row = rig.store.get(Table::Ledger, &number.to_be_bytes());
        assert!(row.expect("readable").is_some(), "visible when completed");
    }
    assert_eq!(receiver.recv().expect("an answer"), (4, Ok(())));
    let position = rig.store.get(Table::Meta, POSITION_KEY);
    let position = read_position(&position.expect("readable").expect("a row"));
    let expected = CachePosition {
        database: [7; 16],
        number: 7,
        fence: 2,
    };
    assert_eq!(position, Some(expected));
    drop(rig);
    assert_eq!(*server.applied.lock().expect("whole"), [5, 6, 7]);
}

#[test]
fn nothing_completes_after_a_commit_that_the_server_refused() {
    let (rig, server) = behind(8);
    let handle = rig.committer.handle();
    let (sender, receiver) = channel();
    for number in 1..=2 {
        submit(&handle, number, Class::Normal, put(number, 10), &sender);
    }
    // A round without rows may rest on rows of an earlier one.
    submit(&handle, 3, Class::Normal, WriteBatch::default(), &sender);
    submit(&handle, 4, Class::Normal, put(4, 10), &sender);
    server.wait_for(3);
    server.answer(Err(refusal()));
    // The server did the later one, as a late statement may.
    server.answer(Ok(()));
    server.answer(Ok(()));
    for number in 1..=4 {
        let (answered, outcome) = receiver.recv().expect("an answer");
        assert_eq!((answered, outcome), (number, Err(refusal())));
    }
    for number in 1..=4_u64 {
        let row = rig.store.get(Table::Ledger, &number.to_be_bytes());
        assert_eq!(row.expect("readable"), None, "{number}");
    }
    submit(&handle, 5, Class::Normal, put(5, 10), &sender);
    assert_eq!(receiver.recv().expect("an answer"), (5, Err(refusal())));
}
