//! Every file of a store is lost, cut, emptied or replaced by an older one in turn: the store refuses to open and names the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kernel::port::Table;
use primitives::Coded;
use primitives::storage::TableSet;
use store::{Custody, CustodyKey, Embedded, OpenError, Options, RehearsalFigures, Rehearsed};

use crate::workload;
use crate::workload::{Cast, assert_equals, batch, count, model, tiny};

type ChainTable = chain::port::Table;

const SEED: u64 = 21;
/// Batches of the older copy of the store, and of the newest.
const OLDER: u64 = 300;
const NEWEST: u64 = 420;

/// A node's folder: `ledger.anchor` next to the key, all else in `data`.
fn custody(node: &Path) -> Custody {
    Custody {
        inventory: node.join("data/ledger.inventory"),
        anchor: node.join("ledger.anchor"),
        key: CustodyKey::derive(&[5; 32]),
    }
}

fn options(node: &Path) -> Options {
    Options {
        custody: Some(custody(node)),
        ..tiny()
    }
}

fn ledger(node: &Path) -> PathBuf {
    node.join("data/ledger")
}

fn open<T: TableSet>(node: &Path) -> Result<Embedded<T>, OpenError> {
    Embedded::<T>::open(&ledger(node), &options(node))
}

/// Rehearses the opening of a node's store, and asserts that it changes no file.
fn rehearse<T: TableSet>(node: &Path) -> Result<RehearsalFigures, OpenError> {
    let before = files(node);
    let scratch = workload::folder();
    let (ledger, custody) = (ledger(node), custody(node));
    let judge = |store: Rehearsed<T>| store.figures();
    let found = Embedded::<T>::rehearse(&ledger, Some(&custody), scratch.path(), u64::MAX, judge);
    assert!(files(node) == before, "a rehearsal changes files");
    found
}

fn new_node(node: &Path) {
    std::fs::create_dir_all(node).expect("made");
    custody(node).expect_new_store().expect("written");
}

/// Adds batches up to `end`.
fn fill<T: Cast>(node: &Path, end: u64) {
    let store = open::<T>(node).expect("opens");
    for number in count(&store) + 1..=end {
        store.write(vec![batch(SEED, number)]).expect("written");
    }
}

/// All files below a folder with their bytes, by relative path.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let name = path.strip_prefix(root).expect("below").to_path_buf();
                found.insert(name, std::fs::read(&path).expect("readable"));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, folder, &mut found);
    found
}

fn lay(files: &BTreeMap<PathBuf, Vec<u8>>, folder: &Path) {
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, bytes).expect("written");
    }
}

/// Whether the store needs a file: of a table only the newest list and the files in it, not those that a merge left behind.
fn is_needed(name: &Path, inventory: &str) -> bool {
    let mut parts = name.iter().map(|part| part.to_string_lossy().into_owned());
    let Some(table) = parts.by_ref().skip_while(|part| part != "tables").nth(1) else {
        // Locking makes it again, and it holds nothing.
        return !name.ends_with("LOCK");
    };
    let mut lines = inventory.lines();
    let head = format!("table {table} list ");
    let list = lines.find_map(|line| line.strip_prefix(&head));
    let list = list.expect("listed").split(' ').next().expect("a number");
    let listed = |number: &str| {
        let files = lines.take_while(|line| line.starts_with("file "));
        let wanted = format!("file {number} ");
        files.into_iter().any(|line| line.starts_with(&wanted))
    };
    let rest: Vec<String> = parts.collect();
    match &rest[..] {
        [pointer] if pointer == "current" => true,
        [version] => *version == format!("v{list}"),
        [_, file] => listed(file),
        _ => panic!("{}", name.display()),
    }
}

/// Returns the ways to harm a file, each with the bytes that it leaves; `None` if the file is gone.
fn fates(bytes: &[u8], older: Option<&Vec<u8>>) -> Vec<(&'static str, Option<Vec<u8>>)> {
    let mut fates = vec![("removed", None)];
    if !bytes.is_empty() {
        fates.push(("emptied", Some(Vec::new())));
        fates.push((
            "cut to two thirds",
            Some(bytes[..bytes.len() * 2 / 3].to_vec()),
        ));
    }
    let older = older.filter(|older| *older != bytes);
    fates.extend(older.map(|older| ("replaced by an older one", Some(older.clone()))));
    fates
}

fn every_lost_file_is_named<T: Cast>() {
    let folder = workload::folder();
    let node = folder.path().join("node");
    new_node(&node);
    fill::<T>(&node, OLDER);
    let older = files(&node);
    fill::<T>(&node, NEWEST);
    let newest = files(&node);
    let inventory = &newest[Path::new("data/ledger.inventory")];
    let inventory = String::from_utf8(inventory.clone()).expect("text");
    let (mut tables, mut sorted, mut cases) = (0, 0, 0);
    for (name, bytes) in &newest {
        if !is_needed(name, &inventory) {
            continue;
        }
        sorted += u64::from(
            name.parent()
                .is_some_and(|folder| folder.ends_with("tables")),
        );
        tables += u64::from(name.ends_with("current"));
        for (fate, left) in fates(bytes, older.get(name)) {
            let what = format!("{}, {} {fate}", T::TITLE, name.display());
            let case = folder.path().join(format!("case {cases}"));
            cases += 1;
            let mut spoiled = newest.clone();
            match left {
                None => spoiled.remove(name),
                Some(left) => spoiled.insert(name.clone(), left),
            };
            lay(&spoiled, &case);
            let rehearsed = rehearse::<T>(&case).err();
            let opened = open::<T>(&case);
            assert_eq!(
                rehearsed.map(|error| error.to_string()),
                opened.as_ref().err().map(ToString::to_string),
                "{what}: the rehearsal and the opening differ"
            );
            if fate == "replaced by an older one" && name.extension() == Some("mark".as_ref()) {
                // The mark is a lower bound: a power cut leaves an older one as well. Nothing is lost.
                let store = opened.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_equals(&store, &model(SEED, NEWEST), &what);
                continue;
            }
            let error = opened.map(drop).expect_err(&what);
            let message = error.to_string();
            let path = case.join(name).display().to_string();
            let named = message.contains(&path)
                || (name.ends_with("FORMAT") && message.contains("its FORMAT file"));
            assert!(named, "{what}: {message}");
            assert!(
                [
                    "store.incomplete",
                    "store.inventory",
                    "store.unknown_format"
                ]
                .contains(&error.code()),
                "{what}: {} {message}",
                error.code()
            );
            assert!(error.hint().contains("estore") || error.hint().contains("directory"));
            let mut after = files(&case);
            after.retain(|name, _| !name.ends_with("LOCK"));
            spoiled.retain(|name, _| !name.ends_with("LOCK"));
            assert!(after == spoiled, "{what}: files were changed");
            std::fs::remove_dir_all(&case).expect("removed");
        }
    }
    assert_eq!(tables, T::ALL.len() as u64, "every table has a pointer");
    assert!(sorted > 2, "sorted files are among the cases");
    println!("{cases} cases");
    // The untouched folder opens, so the cases fail for their own reason.
    let store = open::<T>(&node).expect("opens");
    assert_equals(&store, &model(SEED, NEWEST), "untouched");
}

#[test]
fn every_lost_file_of_a_node_is_named() {
    every_lost_file_is_named::<Table>();
}

#[test]
fn every_lost_file_of_a_chain_is_named() {
    every_lost_file_is_named::<ChainTable>();
}

#[test]
fn a_missing_folder_is_no_empty_store() {
    for lost in [
        "data",
        "data/ledger",
        "data/ledger/log",
        "data/ledger/tables",
    ] {
        let folder = workload::folder();
        let node = folder.path().join("node");
        new_node(&node);
        fill::<Table>(&node, 40);
        std::fs::remove_dir_all(node.join(lost)).expect("removed");
        let rehearsed = rehearse::<Table>(&node).expect_err(lost);
        assert_eq!(
            node.join("data").exists(),
            lost != "data",
            "nothing is made"
        );
        let error = open::<Table>(&node).map(drop).expect_err(lost);
        let expected = match lost {
            "data" => "store.missing",
            _ => "store.incomplete",
        };
        assert_eq!(error.code(), expected, "{lost}: {error}");
        assert_eq!(rehearsed.to_string(), error.to_string(), "{lost}");
        assert!(
            error
                .to_string()
                .contains(&ledger(&node).display().to_string())
        );
        assert_eq!(
            node.join("data").exists(),
            lost != "data",
            "nothing is made"
        );
    }
}

#[test]
fn a_rehearsal_reads_the_rows_and_leaves_the_store_alone() {
    let folder = workload::folder();
    let node = folder.path().join("node");
    new_node(&node);
    assert!(rehearse::<Table>(&node).expect("a new one").is_new);
    fill::<Table>(&node, NEWEST);
    let store = open::<Table>(&node).expect("opens");
    let scratch = workload::folder();
    let (path, custody) = (ledger(&node), custody(&node));
    let judge = |store: Rehearsed<Table>| store.figures();
    let rehearsed = Embedded::rehearse(&path, Some(&custody), scratch.path(), 0, judge);
    assert_eq!(rehearsed.expect_err("it is open").code(), "store.locked");
    drop(store);
    let found = rehearse::<Table>(&node).expect("whole");
    assert!(
        found.files > 2 && found.records > 0 && !found.is_new,
        "{found:?}"
    );
    assert_eq!(found.unread_bytes, 0);
    let judge = |store: Rehearsed<Table>| {
        assert_equals(&store, &model(SEED, NEWEST), "rehearsed");
        store.figures()
    };
    let rehearsed = Embedded::rehearse(&path, Some(&custody), scratch.path(), 0, judge);
    let bounded = rehearsed.expect("whole");
    assert_eq!((bounded.files, bounded.unread_bytes), (0, found.bytes));

    // A damaged byte in each slot of the log, and in a sorted file, which an opening does not read.
    let newest = files(&node);
    let inventory = &newest[Path::new("data/ledger.inventory")];
    let inventory = String::from_utf8(inventory.clone()).expect("text");
    let (mut slots, mut sorted) = (0, 0);
    for (at, (name, bytes)) in newest.iter().enumerate() {
        let is_slot = name.extension() == Some("log".as_ref());
        let folder_of = name.parent().expect("a folder");
        let is_sorted = sorted == 0 && folder_of.ends_with("tables") && is_needed(name, &inventory);
        if !(is_slot || is_sorted) || bytes.len() < 700 {
            continue;
        }
        let mut spoiled = newest.clone();
        spoiled.get_mut(name).expect("there")[600] ^= 1;
        let case = folder.path().join(format!("flipped {at}"));
        lay(&spoiled, &case);
        let rehearsed = rehearse::<Table>(&case).map(drop);
        let opened = open::<Table>(&case).map(drop);
        if is_slot && opened.is_ok() {
            // The slot is free, or the torn record is the last one.
            assert!(rehearsed.is_ok(), "{rehearsed:?}");
            continue;
        }
        let error = rehearsed.expect_err("damaged");
        assert_eq!(error.code(), "store.corrupt", "{error}");
        let path = case.join(name).display().to_string();
        assert!(error.to_string().contains(&path), "{error}");
        slots += u64::from(is_slot);
        sorted += u64::from(is_sorted);
    }
    assert!(slots > 0 && sorted == 1, "{slots} {sorted}");
}

#[test]
fn an_identity_without_an_anchor_gets_no_store() {
    let folder = workload::folder();
    let node = folder.path().join("node");
    std::fs::create_dir(&node).expect("made");
    let error = open::<Table>(&node).map(drop).expect_err("refused");
    assert_eq!(error.code(), "store.missing");
    assert!(error.hint().contains("init-store"), "{}", error.hint());
    let permitted = custody(&node).permit_empty_store(&ledger(&node));
    permitted.expect("nothing is there");
    fill::<Table>(&node, 5);
}

#[test]
fn an_operator_can_start_over_but_not_over_a_store() {
    let folder = workload::folder();
    let node = folder.path().join("node");
    new_node(&node);
    fill::<Table>(&node, 40);
    let first = open::<Table>(&node).expect("opens").store_id();
    let custody = custody(&node);
    let error = custody
        .permit_empty_store(&ledger(&node))
        .expect_err("refused");
    assert_eq!(error.code(), "store.not_empty");
    std::fs::rename(ledger(&node), node.join("kept")).expect("moved");
    custody
        .permit_empty_store(&ledger(&node))
        .expect("permitted");
    let store = open::<Table>(&node).expect("opens");
    assert_eq!(count(&store), 0);
    assert_ne!(store.store_id(), first, "another store has another id");
    assert!(node.join("data/ledger.inventory.before-1").exists());
    assert!(node.join("data/ledger.mark.before-1").exists());
}

#[test]
fn a_store_keeps_its_id_and_belongs_to_one_identity() {
    let folder = workload::folder();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    new_node(&a);
    new_node(&b);
    fill::<Table>(&a, 40);
    fill::<Table>(&b, 40);
    let id = open::<Table>(&a).expect("opens").store_id();
    assert_eq!(open::<Table>(&a).expect("opens").store_id(), id);
    assert_ne!(open::<Table>(&b).expect("opens").store_id(), id);
    // The data of B under the anchor of A.
    std::fs::rename(a.join("data"), a.join("kept")).expect("moved");
    lay(&files(&b.join("data")), &a.join("data"));
    let error = open::<Table>(&a).map(drop).expect_err("of B");
    assert_eq!(error.code(), "store.foreign");
    // The store of B under the inventory of A.
    for file in ["ledger.inventory", "ledger.mark"] {
        std::fs::copy(a.join("kept").join(file), a.join("data").join(file)).expect("copied");
    }
    let error = open::<Table>(&a).map(drop).expect_err("of B");
    assert_eq!(error.code(), "store.foreign");
    // Another key: an inventory that an attacker made for this identity without its secret.
    let mut options = options(&b);
    options.custody.as_mut().expect("given").key = CustodyKey::derive(&[6; 32]);
    let error = Embedded::<Table>::open(&ledger(&b), &options).map(drop);
    assert_eq!(error.expect_err("another key").code(), "store.inventory");
}

#[test]
fn an_operator_can_accept_a_whole_store_never_a_damaged_one() {
    let folder = workload::folder();
    let node = folder.path().join("node");
    new_node(&node);
    fill::<Table>(&node, 200);
    let custody = custody(&node);
    let first = open::<Table>(&node).expect("opens").store_id();
    std::fs::remove_file(node.join("data/ledger.inventory")).expect("removed");
    let pointer = ledger(&node).join("tables/client_ids/current");
    let bytes = std::fs::read(&pointer).expect("there");
    std::fs::remove_file(&pointer).expect("removed");
    let error =
        Embedded::<Table>::accept(&ledger(&node), Some(&custody)).expect_err("a table is missing");
    assert!(error.to_string().contains("client_ids/current"), "{error}");
    std::fs::write(&pointer, bytes).expect("written");
    assert_eq!(
        open::<Table>(&node).map(drop).expect_err("lost").code(),
        "store.inventory"
    );
    let checked = Embedded::<Table>::accept(&ledger(&node), Some(&custody)).expect("whole");
    assert!(checked.is_sound());
    let store = open::<Table>(&node).expect("opens");
    assert_equals(&store, &model(SEED, 200), "accepted");
    assert_ne!(
        store.store_id(),
        first,
        "what was accepted is another store"
    );
    let error = Embedded::<Table>::accept(&ledger(&node), Some(&custody)).expect_err("it is open");
    assert_eq!(error.code(), "store.locked");
}

/// Turns a store into one of the program before inventories.
fn as_version_1(node: &Path) {
    for file in ["ledger.anchor", "data/ledger.inventory", "data/ledger.mark"] {
        std::fs::remove_file(node.join(file)).expect("removed");
    }
    let format = format!("{}\nversion 1\n", Table::TITLE);
    std::fs::write(ledger(node).join("FORMAT"), format).expect("written");
}

#[test]
fn a_store_without_an_inventory_is_adopted_once() {
    let folder = workload::folder();
    let node = folder.path().join("node");
    new_node(&node);
    fill::<Table>(&node, 200);
    as_version_1(&node);
    let pointer = ledger(&node).join("tables/notary_states/current");
    let bytes = std::fs::read(&pointer).expect("there");
    std::fs::remove_file(&pointer).expect("removed");
    let error = open::<Table>(&node)
        .map(drop)
        .expect_err("a table lost its pointer");
    assert!(
        error.to_string().contains("notary_states/current"),
        "{error}"
    );
    std::fs::write(&pointer, bytes).expect("written");
    let store = open::<Table>(&node).expect("adopted");
    assert_equals(&store, &model(SEED, 200), "adopted");
    drop(store);
    fill::<Table>(&node, 220);
    std::fs::remove_dir_all(ledger(&node).join("tables/notary_states")).expect("removed");
    let error = open::<Table>(&node)
        .map(drop)
        .expect_err("protected from now on");
    assert_eq!(error.code(), "store.incomplete");
}

#[test]
fn a_killed_store_does_not_lose_the_end_of_its_log() {
    // The mark of a process that was killed is exact: dropping the store writes nothing that a kill would not.
    let folder = workload::folder();
    let node = folder.path().join("node");
    new_node(&node);
    fill::<Table>(&node, 3);
    let before = files(&node);
    fill::<Table>(&node, 4);
    let log = Path::new("data/ledger/log/0.log");
    let older = before.get(log).expect("there");
    std::fs::write(node.join(log), older).expect("written");
    let error = open::<Table>(&node).map(drop).expect_err("one record less");
    assert_eq!(error.code(), "store.incomplete");
    assert!(error.to_string().contains("0.log"), "{error}");
}
