//! Ten million steps of flows, journal and outbox rows that are written and soon deleted, by a process that is killed
//! again and again: disk use and the time to open stay flat, and after every kill exactly the right rows are there.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use kernel::port::{Table, WriteBatch};
use primitives::storage::Reads;
use store::{Embedded, Options};

use crate::workload::{COUNT, Sequence, count};

const FOLDER: &str = "STORE_GROWTH_FOLDER";
const STEPS: u64 = 10_000_000;
const KILLS: u64 = 40;
/// Steps in a commit: half of them journal rows, half outbox rows.
const COMMIT_STEPS: u64 = 200;
/// A row lives for this many commits, except every hundredth, which lives ten times as long.
const LIFE: u64 = 5;

/// The keys written by commit `number`, with the commit that deletes them.
fn keys(number: u64) -> impl Iterator<Item = (Table, Vec<u8>, u64)> {
    (0..COMMIT_STEPS).map(move |i| {
        let life = if i % 100 == 99 { LIFE * 10 } else { LIFE };
        let (table, key) = if i % 2 == 0 {
            let flow = Sequence(number.wrapping_mul(1_000_003) ^ i).bytes(16);
            (
                Table::Journal,
                [flow.as_slice(), &1u32.to_be_bytes()].concat(),
            )
        } else {
            let peer = [(i % 8) as u8; 32];
            (
                Table::Outbox,
                [peer.as_slice(), &(number * COMMIT_STEPS + i).to_be_bytes()].concat(),
            )
        };
        (table, key, number + life)
    })
}

fn commit(number: u64, value: &[u8]) -> WriteBatch {
    let mut batch = WriteBatch::default();
    batch.put(Table::Meta, COUNT, number.to_be_bytes());
    for (table, key, _) in keys(number) {
        batch.put(table, key, value);
    }
    for born in [number.checked_sub(LIFE), number.checked_sub(LIFE * 10)]
        .into_iter()
        .flatten()
    {
        for (table, key, dies) in keys(born) {
            if dies == number && born > 0 {
                batch.delete(table, key);
            }
        }
    }
    batch
}

/// The process that is killed; runs only when the test below starts it. Prints `OPEN ms count`, then `AT count disk`.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let started = Instant::now();
    let store = Embedded::open(&folder, &Options::default()).expect("opens");
    let mut number = count(&store);
    println!("OPEN {:.3} {number}", started.elapsed().as_secs_f64() * 1e3);
    let value = Sequence(7).bytes(220);
    while number * COMMIT_STEPS < STEPS {
        number += 1;
        store.write(vec![commit(number, &value)]).expect("written");
        if number.is_multiple_of(50) {
            println!("AT {number} {}", store.disk_bytes());
        }
    }
    println!("DONE {number} {}", store.disk_bytes());
}

/// Exactly the rows that are to be there after commit `number` are there.
fn audit(folder: &Path) -> u64 {
    let store = Embedded::open(folder, &Options::default()).expect("opens");
    let number = count(&store);
    let mut expected: Vec<(Table, Vec<u8>)> = (number.saturating_sub(LIFE * 10)..=number)
        .filter(|born| *born > 0)
        .flat_map(keys)
        .filter(|(_, _, dies)| *dies > number)
        .map(|(table, key, _)| (table, key))
        .collect();
    expected.sort();
    let found: Vec<(Table, Vec<u8>)> = [Table::Journal, Table::Outbox]
        .into_iter()
        .flat_map(|table| {
            let rows = store.scan(table, &[], None, usize::MAX).expect("readable");
            rows.into_iter().map(move |(key, _)| (table, key))
        })
        .collect();
    assert!(
        found == expected,
        "after {number} commits: {} rows, expected {}",
        found.len(),
        expected.len()
    );
    number
}

#[test]
fn ten_million_steps_with_kills_leave_disk_and_open_time_flat() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut numbers = Sequence(2024);
    let mut opens: Vec<(u64, f64)> = Vec::new();
    let mut disks: Vec<(u64, u64)> = Vec::new();
    let started = Instant::now();
    let mut done = false;
    while !done {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "growth::child", "--nocapture"])
            .env(FOLDER, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the child starts");
        // Killed after a random number of lines, not of milliseconds: the machine's speed does not matter.
        let lines = STEPS / COMMIT_STEPS / 50 / KILLS;
        let mut left = 1 + numbers.below(2 * lines);
        for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
            let line = line.expect("text");
            let mut words = line.split_whitespace().rev();
            let mut next = || words.next().unwrap_or_default();
            if line.contains("OPEN ") {
                let (at, took) = (next(), next());
                opens.push((at.parse().expect("a count"), took.parse().expect("ms")));
            } else if line.starts_with("AT ") || line.starts_with("DONE ") {
                let (disk, at) = (next(), next());
                disks.push((at.parse().expect("a count"), disk.parse().expect("bytes")));
                done = line.starts_with("DONE ");
                left -= 1;
            }
            if left == 0 {
                break;
            }
        }
        // Already gone when it was done; killed otherwise.
        let _ = child.kill();
        child.wait().expect("waited for");
        audit(&path);
    }
    let seconds = started.elapsed().as_secs_f64();
    let half = STEPS / COMMIT_STEPS / 2;
    let largest = |second: bool| {
        disks
            .iter()
            .filter(|(at, _)| (*at > half) == second)
            .map(|(_, bytes)| *bytes)
            .max()
    };
    let (before, after) = (largest(false).unwrap_or(0), largest(true).unwrap_or(0));
    let slowest = |second: bool| {
        let times = opens
            .iter()
            .filter(|(at, _)| (*at > half) == second)
            .map(|(_, ms)| *ms);
        times.fold(0.0, f64::max)
    };
    println!(
        "{STEPS} steps, {} kills, {seconds:.1} s with all audits; disk at most {:.1} MB in the first half, {:.1} MB in the \
         second; opened in at most {:.1} ms and {:.1} ms",
        opens.len() - 1,
        before as f64 / 1e6,
        after as f64 / 1e6,
        slowest(false),
        slowest(true),
    );
    assert!(
        opens.len() as u64 > KILLS / 2,
        "killed {} times",
        opens.len()
    );
    assert!(
        after <= before + before / 4,
        "disk grows: {before} to {after}"
    );
    assert!(after < 80 << 20, "disk: {after}");
    // Generous: the machine may be busy with other tests. Replaying a log that has grown would take minutes.
    assert!(slowest(true) < 1000.0, "opening takes {} ms", slowest(true));
}

/// A peer that is away: its outbox and deliveries pile up far beyond the memory budgets, and are gone once it is back.
#[test]
fn a_backlog_goes_to_disk_and_leaves_it_again() {
    const ROWS: u64 = 100_000;
    const PIECE: u64 = 500;
    let options = Options {
        memtable_bytes: 2 << 20,
        log_bytes: 2 << 20,
        ..Options::default()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Embedded::open(folder.path(), &options).expect("opens");
    let mut values = Sequence(1);
    let key = |n: u64| [[9; 32].as_slice(), &n.to_be_bytes()].concat();
    let (mut memory, mut disks) = (0, Vec::new());
    for round in 0..3 {
        for piece in 0..ROWS / PIECE {
            let mut batch = WriteBatch::default();
            for n in piece * PIECE..(piece + 1) * PIECE {
                batch.put(Table::Outbox, key(n), values.bytes(400));
                batch.put(Table::Deliveries, key(n), values.bytes(32));
            }
            store.write(vec![batch]).expect("written");
            memory = memory.max(store.memory_bytes());
        }
        let full = store.disk_bytes();
        if round == 1 {
            drop(store);
            store = Embedded::open(folder.path(), &options).expect("opens");
        }
        for piece in 0..ROWS / PIECE {
            // As a sender does: on from where it was. From the beginning it would pass over all that is deleted.
            let from = if piece % 50 == 0 { 0 } else { piece * PIECE };
            let rows = store
                .scan(Table::Outbox, &key(from), None, PIECE as usize)
                .expect("readable");
            assert_eq!(rows.len() as u64, PIECE);
            assert_eq!(rows[0].0, key(piece * PIECE), "the oldest is found first");
            let mut batch = WriteBatch::default();
            for (key, _) in rows {
                batch.delete(Table::Outbox, key.clone());
                batch.delete(Table::Deliveries, key);
            }
            store.write(vec![batch]).expect("written");
        }
        assert_eq!(store.last(Table::Outbox).expect("readable"), None);
        store.flush().expect("flushed");
        disks.push((full, store.disk_bytes()));
    }
    println!("backlog of {ROWS}: memory at most {memory}, disk full and drained {disks:?}");
    assert!(memory < 12 << 20, "memory: {memory}");
    assert!(
        disks
            .iter()
            .all(|(full, drained)| *full > 40 << 20 && *drained < 12 << 20),
        "{disks:?}"
    );
}
