//! No record is written that a reader would refuse. The tests lower the limit, which is 1 GiB otherwise.

use std::path::Path;
use std::sync::mpsc::channel;

use kernel::port::{Table, WriteBatch};
use primitives::storage::Reads;
use store::{Class, Committer, CommitterOptions, Embedded, Options};

use crate::workload;

const COMMIT_BYTES_MAX: usize = 4 << 10;
const ROWS: u64 = 64;
const ROW_BYTES: usize = 1 << 10;

/// Budgets under which a quarter of a log segment holds many times the largest record.
fn open(folder: &Path) -> Embedded<Table> {
    let options = Options {
        memtable_bytes: 1 << 20,
        log_bytes: 1 << 20,
        commit_bytes_max: COMMIT_BYTES_MAX,
        ..workload::tiny()
    };
    Embedded::open(folder, &options).expect("opens")
}

fn row(table: Table, key: u64, bytes: usize) -> WriteBatch {
    let mut batch = WriteBatch::default();
    batch.put(table, key.to_be_bytes(), vec![7; bytes]);
    batch
}

fn rows(store: &Embedded<Table>, table: Table) -> usize {
    let rows = store.scan(table, &[], None, usize::MAX);
    rows.expect("readable").len()
}

#[test]
fn resident_rows_beyond_one_record_survive_a_rotation() {
    let folder = workload::folder();
    let store = open(folder.path());
    for key in 0..ROWS {
        for table in [Table::Journal, Table::Outbox, Table::Deliveries] {
            store
                .write(vec![row(table, key, ROW_BYTES)])
                .expect("written");
        }
    }
    store.flush().expect("the new segment's head fits a record");
    store
        .write(vec![row(Table::Journal, ROWS, ROW_BYTES)])
        .expect("written after the rotation");
    drop(store);
    let store = open(folder.path());
    let found = [Table::Journal, Table::Outbox, Table::Deliveries].map(|table| rows(&store, table));
    assert_eq!(found, [ROWS as usize + 1, ROWS as usize, ROWS as usize]);
}

#[test]
fn commit_too_large_for_a_record_is_refused_unwritten() {
    let folder = workload::folder();
    let store = open(folder.path());
    let halves = || (0..2).map(|key| row(Table::Ledger, key, COMMIT_BYTES_MAX / 2));
    let refused = store.write(halves().collect()).expect_err("too large");
    assert_eq!(refused.code, "store.bad_row");
    assert!(
        refused.message.contains("expected at most 4096"),
        "{refused:?}"
    );
    assert_eq!(rows(&store, Table::Ledger), 0);
    for half in halves() {
        store.write(vec![half]).expect("fits, and nothing failed");
    }
    assert_eq!(rows(&store, Table::Ledger), 2);
}

#[test]
fn both_lanes_commit_when_their_sum_exceeds_a_record() {
    let folder = workload::folder();
    let store = open(folder.path());
    let committer = Committer::start(store.clone(), CommitterOptions::default()).expect("starts");
    let handle = committer.handle();
    let (enter, entered) = channel();
    let (release, released) = channel::<()>();
    handle.submit(0, Class::Normal, WriteBatch::default(), move |_, _| {
        enter.send(()).expect("the test listens");
        // The commit thread stays here until everything below is queued, or the test has failed.
        let _ = released.recv();
    });
    entered.recv().expect("entered");
    let (sender, receiver) = channel();
    for (number, class) in [(1, Class::Bulk), (2, Class::Normal), (3, Class::Bulk)] {
        let sender = sender.clone();
        let batch = row(Table::Ledger, number, COMMIT_BYTES_MAX * 3 / 4);
        handle.submit(number, class, batch, move |number, outcome| {
            sender.send((number, outcome)).expect("the test listens");
        });
    }
    drop(release);
    let outcomes: Vec<_> = receiver.iter().take(3).collect();
    assert_eq!(outcomes, [(1, Ok(())), (2, Ok(())), (3, Ok(()))]);
    assert_eq!(handle.failure(), None);
    assert_eq!(rows(&store, Table::Ledger), 3);
}
