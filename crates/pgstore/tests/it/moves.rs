//! Moving a store to a server and away from it, with processes that may start at the wrong moment.

use pgstore::{DatabaseError, Settings};
use primitives::storage::{TableSet, WriteBatch};
use primitives::{Coded, hex};
use store::{Embedded, Options};

use crate::rig::{Rig, server, settings};
use crate::workload::{Model, Table, assert_equals, batch, model};

/// Rows that a comparison reads from the server at once.
const PAGE: u64 = 1_000;

fn embedded(seed: u64, count: u64) -> (tempfile::TempDir, Embedded<Table>) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Embedded::open(&folder.path().join("store"), &Options::default()).expect("opens");
    for number in 1..=count {
        store.write(vec![batch(seed, number)]).expect("written");
    }
    (folder, store)
}

#[test]
fn caches_of_the_time_before_an_import_are_not_trusted() {
    let (server, seed) = (server(), 21);
    let settings = settings(&server);
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    // Each has seen the empty schema.
    for folder in &folders {
        drop(Rig::open(&settings, folder.path()).expect("opens"));
    }
    let (_folder, source) = embedded(seed, 200);
    let imported = pgstore::import(&settings, &source, &mut |_| {}, || Ok(()));
    assert_eq!(imported.expect("imported"), None);
    for folder in &folders {
        let rig = Rig::open(&settings, folder.path()).expect("opens");
        assert_equals(&rig.cache, &model(seed, 200), "after the import");
    }
}

#[test]
fn no_process_starts_on_a_schema_before_its_import_is_complete() {
    let (server, seed) = (server(), 22);
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let (_folder, source) = embedded(seed, 50);
    let cut_short = pgstore::import(&settings, &source, &mut |_| {}, || {
        let refused = Rig::open(&settings, folder.path()).map(drop);
        let refused = refused.expect_err("the store is not put away");
        assert_eq!(refused.code(), "database.import_cut_short");
        Err(DatabaseError::Closed)
    });
    assert_eq!(cut_short.expect_err("cut short").code(), "database.closed");
    server
        .query("update bank_a.lease set expires = now()")
        .expect("as later");
    let repeated = pgstore::import(&settings, &source, &mut |_| {}, || Ok(()));
    assert_eq!(repeated.expect("imported"), None);
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    assert_equals(&rig.cache, &model(seed, 50), "imported");
    rig.commit(seed, 51, 60);
    drop(rig);
    let again = pgstore::import(&settings, &source, &mut |_| {}, || Ok(()));
    assert_eq!(again.expect_err("used").code(), "database.schema_not_empty");
}

#[test]
fn an_import_that_differs_leaves_the_schema_closed() {
    let (server, seed) = (server(), 23);
    let settings = settings(&server);
    let (_folder, source) = embedded(seed, 50);
    let cut_short = pgstore::import(&settings, &source, &mut |_| {}, || {
        Err(DatabaseError::Closed)
    });
    cut_short.expect_err("cut short");
    server
        .query("update bank_a.lease set expires = now(); update bank_a.rows set value = '\\x00' where tab = 1")
        .expect("damaged");
    let difference = pgstore::import(&settings, &source, &mut |_| {}, || Ok(()));
    assert!(difference.expect("compared").is_some());
    let folder = tempfile::tempdir().expect("a folder");
    let refused = Rig::open(&settings, folder.path()).map(drop);
    assert_eq!(
        refused.expect_err("closed").code(),
        "database.import_cut_short"
    );
}

#[test]
fn no_process_goes_on_with_a_schema_that_was_moved_away() {
    let (server, seed) = (server(), 24);
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    rig.commit(seed, 1, 20);
    let number = |column: &str| -> u64 {
        let read = server.query(&format!("select {column} from bank_a.lease"));
        read.expect("readable").parse().expect("a number")
    };
    let (fence, head) = (number("fence"), number("head"));
    for (fence, head) in [(fence - 1, head), (fence, head - 1)] {
        let refused = pgstore::close(&settings, fence, head);
        assert_eq!(refused.expect_err("changed").code(), "database.deposed");
    }
    crate::rig::wait_for("the fold", || rig.database.figures().folded == head);
    pgstore::close(&settings, fence, head).expect("closed");
    drop(rig);
    let mut waits = settings.clone();
    for standby in [false, true] {
        waits.standby = standby;
        let refused = Rig::open(&waits, folder.path()).map(drop);
        assert_eq!(refused.expect_err("moved").code(), "database.moved");
    }
    let (_folder, source) = embedded(seed, 20);
    let refused = pgstore::import(&settings, &source, &mut |_| {}, || Ok(()));
    assert_eq!(refused.expect_err("moved").code(), "database.moved");
}

/// Returns rows whose first page ends with a table. The keys of the next table are less.
fn rows(count: u64) -> Model {
    let row = |number: u64| {
        let (table, key) = match number < PAGE {
            true => (Table::Ledger, 1_000_000 + number),
            false => (Table::States, number),
        };
        ((table, key.to_be_bytes().to_vec()), vec![1; 20])
    };
    (0..count).map(row).collect()
}

fn embedded_rows(rows: &Model) -> (tempfile::TempDir, Embedded<Table>) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Embedded::open(&folder.path().join("store"), &Options::default()).expect("opens");
    let mut batch = WriteBatch::default();
    for ((table, key), value) in rows {
        batch.put(*table, key.as_slice(), value.as_slice());
    }
    store.write(vec![batch]).expect("written");
    (folder, store)
}

#[test]
fn imports_of_any_number_of_pages_are_whole() {
    let server = server();
    for count in [1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 1] {
        let settings = Settings {
            schema: format!("rows_{count}"),
            ..settings(&server)
        };
        let rows = rows(count);
        let (_folder, source) = embedded_rows(&rows);
        let imported = pgstore::import(&settings, &source, &mut |_| {}, || Ok(()));
        assert_eq!(imported.expect("imported"), None, "{count} rows");
        let folder = tempfile::tempdir().expect("a folder");
        let rig = Rig::open(&settings, folder.path()).expect("opens");
        assert_equals(&rig.cache, &rows, &format!("a copy of {count} rows"));
    }
}

#[test]
fn a_changed_row_is_found_wherever_it_is_in_a_page() {
    let server = server();
    let settings = settings(&server);
    let rows = rows(2 * PAGE + 1);
    let (_folder, source) = embedded_rows(&rows);
    let imported = pgstore::import(&settings, &source, &mut |_| {}, || Ok(()));
    assert_eq!(imported.expect("imported"), None);
    for place in [0, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE - 1, 2 * PAGE] {
        let changed = format!(
            "update bank_a.rows set value = '\\x00' where (tab, key) =
             (select tab, key from bank_a.rows order by tab, key offset {place} limit 1)"
        );
        server.query(&changed).expect("changed");
        let (table, key) = rows.keys().nth(place as usize).expect("a row");
        let expected = format!(
            "different values: table {}, key {}",
            table.number(),
            hex::encode(key)
        );
        let found = pgstore::difference(&settings, &source, &mut |_| {});
        assert_eq!(found.expect("compared"), Some(expected), "row {place}");
        let back =
            "update bank_a.rows set value = decode(repeat('01', 20), 'hex') where value = '\\x00'";
        server.query(back).expect("changed back");
    }
    let found = pgstore::difference(&settings, &source, &mut |_| {});
    assert_eq!(found.expect("compared"), None);
}
