//! Durable rows a second and look-up cost of the embedded store on this disk.
//!
//! `cargo run --release -p store --example bench -- [ROWS] [DIR]`

use std::path::PathBuf;
use std::time::Instant;

use kernel::port::{Table, WriteBatch};
use primitives::storage::Reads;
use store::{Class, Committer, CommitterOptions, Embedded, Options};

/// splitmix64: a fixed sequence, so that runs compare.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend_from_slice(&self.next().to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rows: u64 = arguments
        .next()
        .map_or(1_000_000, |text| text.parse().expect("ROWS is a number"));
    let keep = arguments.next().map(PathBuf::from);
    let scratch = tempfile::tempdir_in(keep.as_deref().unwrap_or(std::path::Path::new(".")))
        .expect("a scratch directory");
    let started = Instant::now();
    let store = Embedded::open(scratch.path(), &Options::default()).expect("the store opens");
    println!("created: {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    println!(
        "{:>34} {:>12} {:>12} {:>10} {:>10}",
        "work", "rows/s", "cpu us/row", "rss MB", "disk MB"
    );

    latency(&store);
    random_states(&store, rows);
    look_ups(&store, rows);
    short_lived(&store, rows);
    ledger(&store, rows / 10);
    drop(store);
    let started = Instant::now();
    let _store = Embedded::<Table>::open(scratch.path(), &Options::default())
        .expect("the store opens again");
    println!(
        "open again: {:.1} ms",
        started.elapsed().as_secs_f64() * 1e3
    );
}

/// One commit of a payment's size at a time, through the committer; then 64 outstanding at once.
fn latency(store: &Embedded<Table>) {
    let committer = Committer::start(store.clone(), CommitterOptions::default()).expect("starts");
    let handle = committer.handle();
    let mut values = Sequence(9);
    let mut step = |sequence: u64| {
        let mut batch = WriteBatch::default();
        batch.put(Table::ClientIds, values.bytes(32), values.bytes(40));
        batch.put(
            Table::Journal,
            [values.bytes(16).as_slice(), &1u32.to_be_bytes()].concat(),
            values.bytes(600),
        );
        batch.put(
            Table::Outbox,
            [[7; 32].as_slice(), &sequence.to_be_bytes()].concat(),
            values.bytes(700),
        );
        batch.delete(
            Table::Outbox,
            [
                [7; 32].as_slice(),
                &sequence.saturating_sub(9).to_be_bytes(),
            ]
            .concat(),
        );
        batch
    };
    let mut times: Vec<u128> = (0..2000)
        .map(|sequence| {
            let batch = step(sequence);
            let started = Instant::now();
            handle.commit(Class::Normal, batch).expect("the disk works");
            started.elapsed().as_micros()
        })
        .collect();
    times.sort_unstable();
    println!(
        "one step at a time: p50 {} us, p99 {} us; of it the sync: p50 below {} us",
        times[1000],
        times[1980],
        handle.stats().totals().sync_us.quantile_upper(500)
    );
    let steps = 100_000u64;
    let (sender, receiver) = std::sync::mpsc::channel();
    let batches: Vec<WriteBatch> = (0..steps).map(|sequence| step(10_000 + sequence)).collect();
    measured(store, "steps of 4 rows, 64 outstanding", steps, || {
        for (number, batch) in batches.into_iter().enumerate() {
            if number >= 64 {
                receiver.recv().expect("answered");
            }
            let sender = sender.clone();
            handle.submit(number as u64, Class::Normal, batch, move |_, outcome| {
                outcome.expect("the disk works");
                sender.send(()).expect("listening");
            });
        }
        (0..64).for_each(|_| receiver.recv().expect("answered"));
    });
}

fn random_states(store: &Embedded<Table>, rows: u64) {
    measured(store, "500 random states a commit", rows, || {
        let mut keys = Sequence(1);
        for _ in 0..rows / 500 {
            let mut batch = WriteBatch::default();
            for _ in 0..500 {
                batch.put(Table::NotaryStates, keys.bytes(36), keys.bytes(32));
            }
            store.write(vec![batch]).expect("the disk works");
        }
    });
}

fn look_ups(store: &Embedded<Table>, rows: u64) {
    let probes = 50_000.min(rows);
    let mut misses = Sequence(77);
    measured(store, "look-ups in vain", probes, || {
        for _ in 0..probes {
            assert!(
                store
                    .get(Table::NotaryStates, &misses.bytes(36))
                    .expect("the disk works")
                    .is_none()
            );
        }
    });
    let mut hits = Sequence(1);
    let step = rows / probes;
    measured(store, "look-ups found", probes, || {
        for _ in 0..probes {
            assert!(
                store
                    .get(Table::NotaryStates, &hits.bytes(36))
                    .expect("the disk works")
                    .is_some()
            );
            let _value = hits.bytes(32);
            for _ in 1..step {
                let _skipped = (hits.bytes(36), hits.bytes(32));
            }
        }
    });
}

/// Journal and outbox rows that are written in one commit and deleted a few commits later.
fn short_lived(store: &Embedded<Table>, rows: u64) {
    measured(store, "journal+outbox, deleted 4 later", rows, || {
        let mut values = Sequence(3);
        let mut sequence = 0u64;
        let mut old: std::collections::VecDeque<Vec<Vec<u8>>> = std::collections::VecDeque::new();
        for _ in 0..rows / 500 {
            let mut batch = WriteBatch::default();
            let mut keys = Vec::new();
            for _ in 0..125 {
                sequence += 1;
                let key = [values.bytes(16).as_slice(), &1u32.to_be_bytes()].concat();
                batch.put(Table::Journal, key.clone(), values.bytes(200));
                keys.push(key);
                batch.put(
                    Table::Outbox,
                    [[7; 32].as_slice(), &sequence.to_be_bytes()].concat(),
                    values.bytes(300),
                );
            }
            old.push_back(keys);
            if old.len() > 4 {
                for (i, key) in old.pop_front().expect("not empty").into_iter().enumerate() {
                    batch.delete(Table::Journal, key);
                    let acknowledged = sequence - 625 + 1 + i as u64;
                    batch.delete(
                        Table::Outbox,
                        [[7; 32].as_slice(), &acknowledged.to_be_bytes()].concat(),
                    );
                }
            }
            store.write(vec![batch]).expect("the disk works");
        }
    });
}

fn ledger(store: &Embedded<Table>, rows: u64) {
    measured(store, "ledger 1 KB + index, 100 a commit", rows, || {
        let mut values = Sequence(5);
        for sequence in 0..rows / 100 {
            let mut batch = WriteBatch::default();
            for i in 0..100 {
                let key = (sequence * 100 + i).to_be_bytes();
                batch.put(Table::Ledger, key, values.bytes(1000));
                batch.put(Table::TxIndex, values.bytes(32), key);
            }
            store.write(vec![batch]).expect("the disk works");
        }
    });
}

fn measured(store: &Embedded<Table>, what: &str, rows: u64, work: impl FnOnce()) {
    let (cpu, started) = (cpu_us(), Instant::now());
    work();
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{what:>34} {:>12.0} {:>12.2} {:>10.1} {:>10.1}",
        rows as f64 / seconds,
        (cpu_us() - cpu) as f64 / rows as f64,
        resident_bytes() as f64 / 1e6,
        store.disk_bytes() as f64 / 1e6
    );
}

/// User and system time of this process, all threads.
fn cpu_us() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .expect("a name")
        .split_whitespace()
        .collect();
    let ticks: u64 =
        fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime");
    ticks * 10_000
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = status
        .split_whitespace()
        .nth(1)
        .expect("resident")
        .parse()
        .expect("pages");
    pages * 4096
}
