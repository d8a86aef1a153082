//! Measures the cost of a chain's blocks in the store as it grows. Each block is a body in pieces of 64 KiB and one index row
//! for each transaction. The keys either begin with the time or are random; either all blocks are kept or only the newest.
//!
//! `cargo run --release -p store --example blocks -- [ROWS] [KEPT BLOCKS, 0 for all] [DIR]`

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chain::port::{Table, WriteBatch};
use store::{Embedded, Options};

const BLOCK_ROWS: u64 = 5_000;
const BODY_BYTES: usize = 750_000;
const PIECE_BYTES: usize = 64 << 10;
/// Seconds from a block to the next.
const BLOCK_SECONDS: u64 = 10;
/// Rows between two lines of the report.
const REPORT_ROWS: u64 = 1_000_000;

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

/// How a transaction's key is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Timed,
    Random,
}

impl Keys {
    fn name(self) -> &'static str {
        match self {
            Keys::Timed => "time, then random",
            Keys::Random => "random",
        }
    }

    /// The keys of a block: transactions were made in the block's last minute.
    fn of_block(self, block: u64) -> Vec<Vec<u8>> {
        let mut numbers = Sequence(block.wrapping_mul(0xd134_2543_de82_ef95));
        (0..BLOCK_ROWS)
            .map(|_| {
                let mut key = numbers.bytes(32);
                if self == Keys::Timed {
                    let time = 1_000_000_000 + block * BLOCK_SECONDS - numbers.next() % 60;
                    let time = u32::try_from(time).unwrap_or(u32::MAX);
                    key[..4].copy_from_slice(&time.to_be_bytes());
                }
                key
            })
            .collect()
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| {
        let text = arguments.next();
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let (rows, kept) = (number(10_000_000), number(0));
    let folder = arguments.next().map(PathBuf::from);
    println!(
        "{:>18} {:>10} {:>10} {:>11} {:>9} {:>9} {:>12} {:>10}",
        "keys", "rows", "rows/s", "cpu us/row", "disk MB", "rss MB", "found us", "vain us"
    );
    for keys in [Keys::Timed, Keys::Random] {
        let scratch =
            tempfile::tempdir_in(folder.as_deref().unwrap_or(Path::new("."))).expect("a folder");
        grow(keys, rows, kept, scratch.path());
    }
}

fn grow(keys: Keys, rows: u64, kept: u64, folder: &Path) {
    let store = Embedded::<Table>::open(folder, &Options::default()).expect("the store opens");
    let body = Sequence(7).bytes(BODY_BYTES);
    let mut blocks: VecDeque<u64> = VecDeque::new();
    let (mut cpu, mut started) = (cpu_us(), Instant::now());
    for block in 1..=rows / BLOCK_ROWS {
        let mut batch = WriteBatch::default();
        let height = (block as u32).to_be_bytes();
        for (number, piece) in body.chunks(PIECE_BYTES).enumerate() {
            let key = [&height[..], &(number as u16).to_be_bytes()].concat();
            let mut piece = piece.to_vec();
            piece[..4].copy_from_slice(&height);
            batch.put(Table::Bodies, key, piece);
        }
        for (place, key) in keys.of_block(block).into_iter().enumerate() {
            let value = [height, (place as u32).to_be_bytes()].concat();
            batch.put(Table::TxIndex, key, value);
        }
        blocks.push_back(block);
        if kept > 0 && blocks.len() as u64 > kept {
            prune(&mut batch, keys, blocks.pop_front().expect("not empty"));
        }
        store.write(vec![batch]).expect("the disk works");
        let done = block * BLOCK_ROWS;
        if done.is_multiple_of(REPORT_ROWS) {
            let seconds = started.elapsed().as_secs_f64();
            let per_row = (cpu_us() - cpu) as f64 / REPORT_ROWS as f64;
            let (found, vain) = look_up(&store, keys, &blocks);
            println!(
                "{:>18} {done:>10} {:>10.0} {per_row:>11.2} {:>9.0} {:>9.0} {found:>12.2} {vain:>10.2}",
                keys.name(),
                REPORT_ROWS as f64 / seconds,
                store.disk_bytes() as f64 / 1e6,
                resident_bytes() as f64 / 1e6,
            );
            (cpu, started) = (cpu_us(), Instant::now());
        }
    }
}

fn prune(batch: &mut WriteBatch, keys: Keys, block: u64) {
    let height = (block as u32).to_be_bytes();
    for number in 0..BODY_BYTES.div_ceil(PIECE_BYTES) {
        let key = [&height[..], &(number as u16).to_be_bytes()].concat();
        batch.delete(Table::Bodies, key);
    }
    for key in keys.of_block(block) {
        batch.delete(Table::TxIndex, key);
    }
}

/// Microseconds to find an index row of any block, and to find that there is none.
fn look_up(store: &Embedded<Table>, keys: Keys, blocks: &VecDeque<u64>) -> (f64, f64) {
    use primitives::storage::Reads;
    const LOOK_UPS: usize = 2_000;
    let mut numbers = Sequence(blocks.len() as u64);
    let mut measure = |there: bool| {
        let wanted: Vec<Vec<u8>> = (0..LOOK_UPS)
            .map(|_| {
                let block = blocks[(numbers.next() % blocks.len() as u64) as usize];
                let mut of_block = keys.of_block(block);
                let mut key = of_block.swap_remove((numbers.next() % BLOCK_ROWS) as usize);
                if !there {
                    key[31] ^= 1;
                }
                key
            })
            .collect();
        let started = Instant::now();
        for key in &wanted {
            let found = store.get(Table::TxIndex, key).expect("readable");
            assert_eq!(found.is_some(), there);
        }
        started.elapsed().as_secs_f64() * 1e6 / LOOK_UPS as f64
    };
    (measure(true), measure(false))
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
