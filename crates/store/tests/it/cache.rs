//! The block cache keeps its budget, and its counters tell its hits and misses.

use kernel::port::{Table, WriteBatch};
use primitives::storage::Reads;
use store::{Embedded, Options};

const BUDGET_BYTES: u64 = 256 << 10;
const ROWS: u64 = 20_000;

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

#[test]
fn its_budget_is_kept_while_far_more_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options {
        cache_bytes: BUDGET_BYTES,
        ..Options::default()
    };
    let store = Embedded::open(folder.path(), &options).expect("opened");
    let mut batch = WriteBatch::default();
    for number in 0..ROWS {
        // Not compressible, so that blocks are as large in memory as on disk.
        let value: Vec<u8> = (0..100).map(|i| (number * 31 + i * i * 7) as u8).collect();
        batch.put(Table::Ledger, key(number), value);
    }
    store.write(vec![batch]).expect("written");
    store.flush().expect("flushed");

    for number in 0..ROWS {
        let row = store.get(Table::Ledger, &key(number)).expect("readable");
        assert!(row.is_some(), "{number}");
        let held = store.block_cache();
        assert!(held.bytes <= held.budget_bytes, "{held:?}");
    }
    let read = store.block_cache();
    assert_eq!(read.budget_bytes, BUDGET_BYTES);
    assert!(read.bytes > BUDGET_BYTES / 4, "it is used: {read:?}");
    assert!(read.misses > 0 && read.hits > read.misses, "{read:?}");

    // The same row again is a hit and reads nothing.
    store.get(Table::Ledger, &key(ROWS - 1)).expect("readable");
    let before = store.block_cache();
    store.get(Table::Ledger, &key(ROWS - 1)).expect("readable");
    let after = store.block_cache();
    assert!(after.hits > before.hits && after.misses == before.misses);
}
