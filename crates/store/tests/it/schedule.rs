//! A million flows that states have scheduled: the store opens, and the next ones that are due are found, at the cost of few;
//! also when all but the last have been started, and their rows deleted in front of those that wait. The kernel remembers where
//! it found the first row, and looks from there on.

use std::time::{Duration, Instant};

use kernel::port::{Table, WriteBatch};
use primitives::storage::Reads;
use store::{Embedded, Options};

use crate::workload::Sequence;

const ROWS: u64 = 1_000_000;
/// Rows that the kernel reads at once, and starts before it reads again.
const PAGE: usize = 1_024;
/// Rows written or deleted in one commit.
const COMMIT: u64 = 1_024;
/// Rows that wait for their time; the rows behind them were refused.
const WAITING: [u8; 1] = [0];
const REFUSED: [u8; 1] = [1];
/// So much slower than with few rows is no longer flat; the machine has other work too.
const FACTOR_MAX: u32 = 8;
/// Below this nothing is slow.
const QUICK: Duration = Duration::from_millis(25);
/// An opening reads the log, which is bounded; and it does not know where rows begin: so long may it take, with the walk over a
/// million rows that are gone.
const OPEN_MAX: Duration = Duration::from_secs(2);

/// `waiting | time u64 BE | transaction 32 | index u32 BE`, as the kernel has it. Several are due at the same moment.
fn key(number: u64) -> Vec<u8> {
    let mut key = WAITING.to_vec();
    key.extend_from_slice(&(number / 3).to_be_bytes());
    key.extend_from_slice(&number.to_be_bytes());
    key.extend_from_slice(&Sequence(number).bytes(28));
    key
}

/// The first rows from a key on, and how long it took to find them.
fn due(store: &Embedded<Table>, from: &[u8]) -> (Vec<Vec<u8>>, Duration) {
    let began = Instant::now();
    let rows = store.scan(Table::Schedule, from, Some(&REFUSED), PAGE);
    let rows = rows.expect("readable");
    let refused = store.scan(Table::Schedule, &REFUSED, None, 1);
    assert!(refused.expect("readable").is_empty());
    let took = began.elapsed();
    (rows.into_iter().map(|(key, _)| key).collect(), took)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The middle one of some looks at the same rows.
fn look(store: &Embedded<Table>, first: u64) -> Duration {
    let times = (0..9).map(|_| {
        let (rows, took) = due(store, &key(first));
        assert_eq!(rows.first(), Some(&key(first)), "the first is found");
        took
    });
    median(times.collect())
}

/// The middle one of some openings, with the first look.
fn open(folder: &std::path::Path, first: u64) -> Duration {
    let times = (0..5).map(|_| {
        let began = Instant::now();
        let store = Embedded::open(folder, &Options::default()).expect("opens");
        let (rows, _) = due(&store, &WAITING);
        assert_eq!(rows.first(), Some(&key(first)), "the first is found");
        began.elapsed()
    });
    median(times.collect())
}

fn flat(what: &str, few: Duration, many: Duration) {
    println!("{what}: {few:?} with few rows, {many:?} with many");
    assert!(
        many < QUICK.max(few * FACTOR_MAX),
        "{what} took {many:?}, and {few:?} with few rows"
    );
}

fn write(store: &Embedded<Table>, numbers: std::ops::Range<u64>) {
    let value = Sequence(7).bytes(24);
    for first in numbers.clone().step_by(COMMIT as usize) {
        let mut batch = WriteBatch::default();
        for number in first..(first + COMMIT).min(numbers.end) {
            batch.put(Table::Schedule, key(number), value.clone());
        }
        store.write(vec![batch]).expect("written");
    }
}

#[test]
fn a_million_scheduled_flows_cost_no_more_to_open_and_to_find_than_few() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let few = {
        let store = Embedded::open(&path, &Options::default()).expect("opens");
        write(&store, 0..COMMIT * 4);
        look(&store, 0)
    };
    let opened_with_few = open(&path, 0);
    let store = Embedded::open(&path, &Options::default()).expect("opens");
    write(&store, COMMIT * 4..ROWS);
    flat("finding what is due", few, look(&store, 0));
    drop(store);
    let opened = open(&path, 0);
    println!("opening: {opened_with_few:?} with few rows, {opened:?} with many");
    assert!(opened < OPEN_MAX, "opening took {opened:?}");

    // They fall due, page by page: started rows are deleted in front of waiting ones.
    let store = Embedded::open(&path, &Options::default()).expect("opens");
    let mut started = 0;
    let mut looks = Vec::new();
    let mut from = WAITING.to_vec();
    while started + (PAGE as u64) < ROWS {
        let (rows, took) = due(&store, &from);
        looks.push(took);
        from = rows.first().cloned().unwrap_or(from);
        let mut batch = WriteBatch::default();
        for (number, found) in (started..).zip(rows) {
            assert_eq!(found, key(number), "each once, in order");
            batch.delete(Table::Schedule, found);
            started += 1;
        }
        store.write(vec![batch]).expect("written");
    }
    let tenth = looks.len() / 10;
    let (first, last) = (
        looks[..tenth].to_vec(),
        looks[looks.len() - tenth..].to_vec(),
    );
    flat("finding the next page", median(first), median(last));
    flat("finding what is due at the end", few, look(&store, started));
    drop(store);
    let opened = open(&path, started);
    println!("opening at the end: {opened:?}");
    assert!(opened < OPEN_MAX, "opening took {opened:?}");
}
