//! A store that a released program wrote, with rows in sorted files, stays readable: `testdata/fixtures/sorted-tables-2.txt`.
//!
//! `MAKE_FIXTURE=1` writes the file if it is not there. A fixture that was released is never written again.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use kernel::port::Table;
use store::{Custody, CustodyKey, Embedded, Options};

use crate::workload;
use crate::workload::{assert_equals, batch, model, tiny};

const SEED: u64 = 2;
const BATCHES: u64 = 14;
/// Batches that are in sorted files, in two runs; the others are in the log.
const FLUSHED: [u64; 2] = [6, 11];
/// Runs of zeroes of at least this length are written as a number.
const ZEROES_MIN: usize = 64;

fn options(node: &Path) -> Options {
    Options {
        custody: Some(Custody {
            inventory: node.join("data/ledger.inventory"),
            anchor: node.join("ledger.anchor"),
            key: CustodyKey::derive(&[42; 32]),
        }),
        ..tiny()
    }
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fixtures/sorted-tables-2.txt")
}

fn make(node: &Path) {
    let options = options(node);
    std::fs::create_dir_all(node.join("data")).expect("made");
    let custody = options.custody.as_ref().expect("given");
    custody.expect_new_store().expect("written");
    let store = Embedded::<Table>::open(&node.join("data/ledger"), &options).expect("opens");
    for number in 1..=BATCHES {
        store.write(vec![batch(SEED, number)]).expect("written");
        if FLUSHED.contains(&number) {
            store.flush().expect("flushed");
        }
    }
}

/// Lines `file PATH`, followed by lines of hexadecimal digits or `zeroes COUNT`.
fn text_of(root: &Path) -> String {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.ends_with("LOCK") => {}
                false => files.push(path),
            }
        }
    }
    files.sort();
    let mut text = String::new();
    for path in files {
        let name = path.strip_prefix(root).expect("below").display();
        writeln!(text, "file {name}").expect("a string");
        let bytes = std::fs::read(&path).expect("readable");
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let zeroes = rest.iter().take_while(|byte| **byte == 0).count();
            if zeroes >= ZEROES_MIN {
                writeln!(text, "zeroes {zeroes}").expect("a string");
                rest = &rest[zeroes..];
                continue;
            }
            let end = rest
                .windows(ZEROES_MIN)
                .position(|window| window.iter().all(|byte| *byte == 0))
                .unwrap_or(rest.len())
                .clamp(1, 64);
            writeln!(text, "{}", primitives::hex::encode(&rest[..end])).expect("a string");
            rest = &rest[end..];
        }
    }
    text
}

fn lay(text: &str, root: &Path) {
    let mut open: Option<(PathBuf, Vec<u8>)> = None;
    let write = |file: Option<(PathBuf, Vec<u8>)>| {
        if let Some((path, bytes)) = file {
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, bytes).expect("written");
        }
    };
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("file ") {
            write(open.replace((root.join(name), Vec::new())));
            continue;
        }
        let (_, bytes) = open.as_mut().expect("a file comes first");
        match line.strip_prefix("zeroes ") {
            Some(count) => bytes.resize(bytes.len() + count.parse::<usize>().expect("a length"), 0),
            None => bytes.extend(primitives::hex::decode(line).expect("hex")),
        }
    }
    write(open);
}

#[test]
fn a_released_store_with_sorted_files_opens_and_goes_on() {
    if std::env::var_os("MAKE_FIXTURE").is_some() && !fixture().exists() {
        let folder = workload::folder();
        make(folder.path());
        std::fs::write(fixture(), text_of(folder.path())).expect("written");
    }
    let text = std::fs::read_to_string(fixture()).expect("the fixture");
    let folder = workload::folder();
    lay(&text, folder.path());
    let path = folder.path().join("data/ledger");
    let options = options(folder.path());
    let custody = options.custody.as_ref();
    let checked = Embedded::<Table>::verify_with(&path, custody).expect("a store");
    assert!(checked.is_sound(), "{checked:?}");
    assert!(checked.files > 3, "sorted files: {checked:?}");
    let store = Embedded::<Table>::open(&path, &options).expect("opens");
    assert_equals(&store, &model(SEED, BATCHES), "as released");
    store
        .write(vec![batch(SEED, BATCHES + 1)])
        .expect("written");
    store.flush().expect("flushed");
    drop(store);
    let store = Embedded::<Table>::open(&path, &options).expect("opens");
    assert_equals(&store, &model(SEED, BATCHES + 1), "gone on");
    // Tables that later programs added are no damage, and do not stop an operator from accepting the store.
    let folder = workload::folder();
    lay(&text, folder.path());
    let (path, options) = (
        folder.path().join("data/ledger"),
        self::options(folder.path()),
    );
    let accepted = Embedded::<Table>::accept(&path, options.custody.as_ref()).expect("whole");
    assert!(accepted.is_sound(), "{accepted:?}");
    let store = Embedded::<Table>::open(&path, &options).expect("opens");
    assert_equals(&store, &model(SEED, BATCHES), "accepted");
}
