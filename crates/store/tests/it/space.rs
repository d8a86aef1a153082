//! Deleted rows give their disk space back while the store runs.

use std::time::{Duration, Instant};

use chain::port::{Table, WriteBatch};
use primitives::storage::Reads;
use store::{Embedded, Options};

use crate::workload;
use crate::workload::Sequence;

const ROWS: u64 = 200_000;
/// Rows in a commit.
const COMMIT: u64 = 1_000;
/// A tenth of the rows stays.
const KEPT: u64 = ROWS / 10;
/// Long enough for any machine; merges take a second or two.
const PATIENCE: Duration = Duration::from_secs(120);

/// As a chain writes: heights ascend, identifiers begin with their time or are random, the newest rows stay.
fn key(table: Table, number: u64) -> Vec<u8> {
    let mut key = Sequence(number).bytes(28);
    match table {
        Table::Bodies => number.to_be_bytes().to_vec(),
        Table::TxIndex => {
            // Times are not quite in the order of the blocks.
            let time = number as u32 + u32::from(key[0]);
            [&time.to_be_bytes()[..], &key].concat()
        }
        _ => {
            key.truncate(20);
            key
        }
    }
}

fn value(number: u64) -> Vec<u8> {
    Sequence(!number).bytes(100)
}

/// Bytes of files, which directories and a log that is used again are not.
fn table_bytes(folder: &std::path::Path, table: Table) -> u64 {
    use primitives::storage::TableSet;
    let files = folder.join("tables").join(table.name()).join("tables");
    std::fs::read_dir(files)
        .expect("a folder")
        .filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()))
        .sum()
}

#[test]
fn pruned_rows_give_their_space_back_without_a_restart() {
    const TABLES: [Table; 3] = [Table::Bodies, Table::TxIndex, Table::ByHash];
    let folder = workload::folder();
    let options = Options {
        memtable_bytes: 2 << 20,
        log_bytes: 4 << 20,
        ..Options::default()
    };
    let store = Embedded::<Table>::open(folder.path(), &options).expect("opens");
    for first in (0..ROWS).step_by(COMMIT as usize) {
        let mut batch = WriteBatch::default();
        for (number, table) in (first..first + COMMIT).flat_map(|n| TABLES.map(|table| (n, table)))
        {
            batch.put(table, key(table, number), value(number));
        }
        store.write(vec![batch]).expect("written");
    }
    store.flush().expect("flushed");
    let full = TABLES.map(|table| table_bytes(folder.path(), table));
    for first in (0..ROWS - KEPT).step_by(COMMIT as usize) {
        let mut batch = WriteBatch::default();
        for (number, table) in (first..first + COMMIT).flat_map(|n| TABLES.map(|table| (n, table)))
        {
            batch.delete(table, key(table, number));
        }
        store.write(vec![batch]).expect("written");
    }
    // Afterwards only a trickle of other rows is written, and no flush is requested.
    let deadline = Instant::now() + PATIENCE;
    let mut trickle = 0u64;
    let left = loop {
        let left = TABLES.map(|table| table_bytes(folder.path(), table));
        // A tenth of the rows stays. A table is merged as a whole when a quarter of its entries are deletions, and each deletion
        // hides one row at most. So a table that waits for more of them has at most as many entries that are gone as rows.
        if full
            .iter()
            .zip(left)
            .all(|(full, left)| left * 100 <= full * 20)
        {
            break left;
        }
        assert!(
            Instant::now() < deadline,
            "full {full:?}, after the deletions and {trickle} other rows {left:?}"
        );
        let mut batch = WriteBatch::default();
        for _ in 0..100 {
            trickle += 1;
            batch.put(Table::Balances, trickle.to_be_bytes(), vec![7; 200]);
        }
        store.write(vec![batch]).expect("written");
    };
    println!("full {full:?}, after the deletions {left:?}");
    for table in TABLES {
        let rows = store.scan(table, &[], None, usize::MAX).expect("readable");
        assert_eq!(rows.len() as u64, KEPT, "{table:?}");
        for number in (0..ROWS).step_by(997) {
            let found = store.get(table, &key(table, number)).expect("readable");
            let expected = (number >= ROWS - KEPT).then(|| value(number));
            assert_eq!(found, expected, "{table:?} {number}");
        }
    }
}
