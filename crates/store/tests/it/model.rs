//! The store against a map: random batches, small budgets, flushes and restarts at random moments.

use kernel::port::{Table, WriteBatch};
use primitives::Coded;
use primitives::storage::Reads;
use primitives::storage::TableSet;
use store::{Embedded, Options};

use crate::workload;
use crate::workload::{Cast, Model, Sequence, apply, assert_equals, batch, tiny};

fn random_batches_with_restarts<T: Cast>(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let folder = workload::folder();
        let mut numbers = Sequence(seed);
        let mut model = Model::new();
        let mut store = Embedded::<T>::open(folder.path(), &tiny()).expect("opens");
        for number in 1..=1500 {
            let batch = batch(seed, number);
            apply(&mut model, &batch);
            store.write(vec![batch]).expect("written");
            match numbers.below(200) {
                0 => store.flush().expect("flushed"),
                1 | 2 => {
                    drop(store);
                    store = Embedded::open(folder.path(), &tiny()).expect("opens again");
                    assert_equals(&store, &model, &format!("seed {seed}, batch {number}"));
                }
                3 => assert_equals(
                    &store,
                    &model,
                    &format!("seed {seed}, batch {number}, running"),
                ),
                _ => {}
            }
        }
        assert_equals(&store, &model, &format!("seed {seed}, end"));
    }
}

#[test]
fn random_batches_with_restarts_equal_the_model_in_a_nodes_tables() {
    random_batches_with_restarts::<Table>(0..4);
}

#[test]
fn random_batches_with_restarts_equal_the_model_in_a_chains_tables() {
    random_batches_with_restarts::<chain::port::Table>(4..7);
}

#[test]
fn tables_are_numbered_in_order_and_named_apart() {
    fn check<T: TableSet>() {
        let mut names = std::collections::BTreeSet::new();
        for (number, table) in T::ALL.iter().enumerate() {
            assert_eq!(usize::from(table.number()), number, "{table:?}");
            assert!(number < 128, "the log's rows have seven bits for it");
            assert!(names.insert(table.name()), "{table:?}");
            let plain = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(table.name().chars().all(plain), "{table:?}");
        }
    }
    check::<Table>();
    check::<chain::port::Table>();
}

#[test]
fn a_store_of_one_kind_is_never_opened_as_another() {
    fn refused<Made: Cast, Opened: TableSet>() {
        let folder = workload::folder();
        let store = Embedded::<Made>::open(folder.path(), &tiny()).expect("opens");
        store.write(vec![batch(1, 1)]).expect("written");
        drop(store);
        let error = Embedded::<Opened>::open(folder.path(), &tiny())
            .map(drop)
            .expect_err("another kind");
        assert_eq!(error.code(), "store.unknown_format");
        let said = error.to_string();
        assert!(
            said.contains(Made::TITLE) && said.contains(Opened::TITLE),
            "{said}"
        );
        let store = Embedded::<Made>::open(folder.path(), &tiny()).expect("unharmed");
        assert_equals(&store, &workload::model(1, 1), "unharmed");
    }
    refused::<Table, chain::port::Table>();
    refused::<chain::port::Table, Table>();
}

#[test]
fn scans_and_their_limits() {
    let folder = workload::folder();
    let store = Embedded::open(folder.path(), &tiny()).expect("opens");
    let put = |keys: &[u8]| {
        let mut batch = WriteBatch::default();
        keys.iter()
            .for_each(|key| batch.put(Table::Outbox, vec![*key], vec![*key]));
        store.write(vec![batch]).expect("written");
    };
    let keys = |from: u8, to: Option<u8>, limit| -> Vec<u8> {
        let to = to.map(|to| vec![to]);
        let rows = store
            .scan(Table::Outbox, &[from], to.as_deref(), limit)
            .expect("readable");
        rows.iter().map(|(key, _)| key[0]).collect()
    };
    assert!(keys(0, None, 10).is_empty());
    put(&[1, 3, 5, 7]);
    store.flush().expect("flushed");
    put(&[2, 6]);
    let mut batch = WriteBatch::default();
    batch.delete(Table::Outbox, vec![3]);
    store.write(vec![batch]).expect("written");
    for (from, to, limit, expected) in [
        (0, None, 10, &[1, 2, 5, 6, 7][..]),
        (0, None, 3, &[1, 2, 5]),
        (0, None, 0, &[]),
        (2, Some(6), 10, &[2, 5]),
        (3, Some(5), 10, &[]),
        (6, Some(6), 10, &[]),
        (6, Some(2), 10, &[]),
        (7, None, 10, &[7]),
        (8, None, 10, &[]),
    ] {
        assert_eq!(keys(from, to, limit), expected, "{from}..{to:?} {limit}");
    }
}

#[test]
fn later_writes_win_within_a_commit() {
    let folder = workload::folder();
    let store = Embedded::open(folder.path(), &tiny()).expect("opens");
    let mut first = WriteBatch::default();
    first.put(Table::Meta, "a", "1");
    first.delete(Table::Meta, "a");
    first.put(Table::Meta, "b", "1");
    let mut second = WriteBatch::default();
    second.put(Table::Meta, "a", "2");
    second.put(Table::Meta, "c", "1");
    second.delete(Table::Meta, "b");
    store.write(vec![first, second]).expect("written");
    let rows = |store: &Embedded<Table>| {
        ["a", "b", "c"].map(|key| store.get(Table::Meta, key.as_bytes()).expect("readable"))
    };
    let expected = [Some(b"2".to_vec()), None, Some(b"1".to_vec())];
    assert_eq!(rows(&store), expected);
    drop(store);
    assert_eq!(
        rows(&Embedded::open(folder.path(), &tiny()).expect("opens")),
        expected
    );
}

#[test]
fn what_cannot_be_stored_is_refused_and_harms_nothing() {
    let folder = workload::folder();
    let store = Embedded::open(folder.path(), &tiny()).expect("opens");
    for key in [vec![], vec![0; 65_536]] {
        let mut batch = WriteBatch::default();
        batch.put(Table::Meta, "good", "row");
        batch.put(Table::Meta, key, "value");
        assert_eq!(
            store.write(vec![batch]).expect_err("refused").code,
            "store.bad_row"
        );
    }
    assert_eq!(store.get(Table::Meta, b"good").expect("readable"), None);
    let mut batch = WriteBatch::default();
    batch.put(Table::Meta, vec![7; 65_535], vec![8; 300_000]);
    store
        .write(vec![batch])
        .expect("the longest key, and a value larger than a segment");
    assert_eq!(
        store
            .get(Table::Meta, &[7; 65_535])
            .expect("readable")
            .map(|value| value.len()),
        Some(300_000)
    );
}

#[test]
fn a_directory_that_is_not_a_store_of_ours_is_refused() {
    type Spoil = fn(&std::path::Path);
    let cases: [(&str, Spoil, &str); 7] = [
        (
            "newer",
            |path| {
                std::fs::write(
                    path.join("FORMAT"),
                    "tallystick embedded store\nversion 3\n",
                )
                .expect("w")
            },
            "store.newer_version",
        ),
        (
            "version 0",
            |path| {
                std::fs::write(
                    path.join("FORMAT"),
                    "tallystick embedded store\nversion 0\n",
                )
                .expect("w")
            },
            "store.unknown_format",
        ),
        (
            "other text",
            |path| std::fs::write(path.join("FORMAT"), "hello").expect("w"),
            "store.unknown_format",
        ),
        (
            "no text",
            |path| std::fs::write(path.join("FORMAT"), [0xff, 0xfe]).expect("w"),
            "store.unknown_format",
        ),
        (
            "no format",
            |path| std::fs::remove_file(path.join("FORMAT")).expect("removed"),
            "store.incomplete",
        ),
        (
            "log header damaged",
            |path| spoil(&path.join("log/1.log"), 20),
            "store.incomplete",
        ),
        (
            "no log",
            |path| std::fs::remove_file(path.join("log/1.log")).expect("removed"),
            "store.incomplete",
        ),
    ];
    for (name, spoil, code) in cases {
        let folder = workload::folder();
        let store = Embedded::<Table>::open(folder.path(), &Options::default()).expect("opens");
        store.write(vec![batch(1, 1)]).expect("written");
        store.flush().expect("flushed");
        store.write(vec![batch(1, 2)]).expect("written");
        drop(store);
        spoil(folder.path());
        let error = Embedded::<Table>::open(folder.path(), &Options::default())
            .map(drop)
            .expect_err(name);
        assert_eq!(error.code(), code, "{name}: {error}");
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn a_store_in_use_is_refused() {
    let folder = workload::folder();
    let store = Embedded::<Table>::open(folder.path(), &tiny()).expect("opens");
    let error = Embedded::<Table>::open(folder.path(), &tiny())
        .map(drop)
        .expect_err("locked");
    assert_eq!(error.code(), "store.locked");
    drop(store);
    Embedded::<Table>::open(folder.path(), &tiny()).expect("free again");
}

#[test]
fn damage_to_an_acknowledged_record_is_reported_a_torn_last_one_is_not() {
    let folder = workload::folder();
    let path = folder.path();
    let mark = path.join("INVENTORY.mark");
    let store = Embedded::<Table>::open(path, &Options::default()).expect("opens");
    for number in 1..=2 {
        store.write(vec![batch(1, number)]).expect("written");
    }
    let before = std::fs::read(&mark).expect("readable");
    store.write(vec![batch(1, 3)]).expect("written");
    drop(store);
    let log = path.join("log/0.log");
    let bytes = std::fs::read(&log).expect("readable");
    let last = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .expect("not empty");
    spoil(&log, last as u64 - 20);
    let error = Embedded::<Table>::open(path, &Options::default())
        .map(drop)
        .expect_err("the last record was acknowledged");
    assert_eq!(error.code(), "store.incomplete", "{error}");
    assert!(error.to_string().contains("0.log"), "{error}");
    // As a power cut in the middle of the third write leaves it: the mark was not there yet.
    std::fs::write(&mark, before).expect("written");
    let store =
        Embedded::<Table>::open(path, &Options::default()).expect("opens without the last record");
    assert_equals(&store, &workload::model(1, 2), "torn");
    store
        .write(vec![batch(1, 3)])
        .expect("goes on in its place");
    drop(store);
    let store = Embedded::<Table>::open(path, &Options::default()).expect("opens");
    assert_equals(&store, &workload::model(1, 3), "written again");
    drop(store);
    spoil(&log, 560);
    let error = Embedded::<Table>::open(path, &Options::default())
        .map(drop)
        .expect_err("the first of three is damaged");
    assert_eq!(error.code(), "store.corrupt", "{error}");
}

/// Flips the bits of one byte.
fn spoil(path: &std::path::Path, at: u64) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .expect("opened");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("read");
    file.write_all_at(&[!byte[0]], at).expect("written");
}
