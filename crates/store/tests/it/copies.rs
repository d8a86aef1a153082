//! Copies of a store made while it runs, and the check of a store's files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use diskimage::{Policy, Recorder, Recording};
use primitives::Coded;
use store::{Embedded, OpenError};

use crate::workload;
use crate::workload::{Sequence, assert_equals, batch, count, model, tiny};

type NodeStore = Embedded<kernel::port::Table>;

const FOLDER: &str = "STORE_COPIES_FOLDER";

/// A store with rows in sorted files, in the log and behind several rotations of it.
fn filled(path: &Path, seed: u64, batches: u64) -> NodeStore {
    let store = NodeStore::open(path, &tiny()).expect("opens");
    for number in 1..=batches {
        store.write(vec![batch(seed, number)]).expect("written");
    }
    store
}

/// The copy holds exactly the first batches, goes on, and opens again. Gives how many it held.
fn audit(path: &Path, seed: u64, what: &str) -> u64 {
    let store = NodeStore::open(path, &tiny()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let held = count(&store);
    assert_equals(&store, &model(seed, held), what);
    for number in held + 1..held + 30 {
        store.write(vec![batch(seed, number)]).expect("written");
    }
    drop(store);
    let store = NodeStore::open(path, &tiny()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_equals(&store, &model(seed, held + 29), &format!("{what}, gone on"));
    held
}

fn sound(path: &Path, what: &str) {
    let checked = NodeStore::verify(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(checked.is_sound(), "{what}: {checked:?}");
}

#[test]
fn a_copy_made_among_writes_equals_what_was_durable_at_one_moment() {
    const BATCHES: u64 = 2500;
    let folder = workload::folder();
    let store = filled(&folder.path().join("store"), 5, 200);
    let (written, done) = (AtomicU64::new(200), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 201..=BATCHES {
                store.write(vec![batch(5, number)]).expect("written");
                written.store(number, SeqCst);
            }
            done.store(true, SeqCst);
        });
        let mut copies = 0;
        while !done.load(SeqCst) || copies == 0 {
            copies += 1;
            let to = folder.path().join(format!("copy {copies}"));
            let before = written.load(SeqCst);
            let figures = store.checkpoint(&to).expect("copied");
            let after = written.load(SeqCst);
            assert!(figures.files > 0 && figures.linked_bytes <= figures.bytes);
            let what = format!("copy {copies}, made after {before} and before {after} batches");
            sound(&to, &what);
            let held = audit(&to, 5, &what);
            // One more may be durable whose writer has not told yet.
            assert!(before <= held && held <= after + 1, "{what}: holds {held}");
            std::fs::remove_dir_all(&to).expect("removed");
        }
        println!("{copies} copies");
    });
    assert_equals(&store, &model(5, BATCHES), "the store itself");
    drop(store);
    sound(&folder.path().join("store"), "the store itself");
}

#[test]
fn every_kind_of_store_can_be_copied() {
    let folder = workload::folder();
    let path = folder.path().join("store");
    let copy = |store: &NodeStore, name: &str| {
        let to = folder.path().join(name);
        store.checkpoint(&to).expect("copied");
        sound(&to, name);
        audit(&to, 1, name)
    };
    let store = NodeStore::open(&path, &tiny()).expect("opens");
    assert_eq!(copy(&store, "of a new one"), 0);
    drop(store);
    let store = filled(&path, 1, 3);
    assert_eq!(copy(&store, "with nothing flushed"), 3);
    store.flush().expect("flushed");
    assert_eq!(copy(&store, "with all flushed"), 3);
    drop(store);
    let store = filled(&path, 1, 400);
    drop(store);
    let store = NodeStore::open(&path, &tiny()).expect("opens");
    assert_eq!(copy(&store, "of one just opened"), 400);
    store
        .checkpoint(&folder.path().join("first"))
        .expect("copied");
    let first = NodeStore::open(&folder.path().join("first"), &tiny()).expect("opens");
    assert_eq!(copy(&first, "of a copy"), 400);
    // The original may be removed: linked files stay.
    drop(store);
    std::fs::remove_dir_all(&path).expect("removed");
    assert_equals(&first, &model(1, 400), "without the original");
}

#[test]
fn a_place_that_is_taken_is_refused_and_left_alone() {
    let folder = workload::folder();
    let store = filled(&folder.path().join("store"), 1, 50);
    let (full, file) = (folder.path().join("full"), folder.path().join("file"));
    std::fs::create_dir(&full).expect("made");
    std::fs::write(full.join("letter"), "dear").expect("written");
    std::fs::write(&file, "text").expect("written");
    for to in [&full, &file, &folder.path().join("no/such")] {
        let failure = store.checkpoint(to).expect_err("refused");
        assert_eq!(failure.code, "store.copy_failed");
        assert!(failure.message.contains(&to.display().to_string()));
    }
    assert_eq!(std::fs::read(full.join("letter")).expect("there"), b"dear");
    assert_eq!(std::fs::read(&file).expect("there"), b"text");
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).expect("made");
    store.checkpoint(&empty).expect("an empty one will do");
    store.write(vec![batch(1, 51)]).expect("the store goes on");
    assert_eq!(audit(&empty, 1, "in a directory that was there"), 50);
}

/// All files below, relative.
fn files(root: &Path, below: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(below).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(files(root, &path));
        } else {
            found.insert(path.strip_prefix(root).expect("below").to_path_buf());
        }
    }
    found
}

fn copy_folder(from: &Path, to: &Path) {
    for file in files(from, from) {
        let target = to.join(&file);
        std::fs::create_dir_all(target.parent().expect("a parent")).expect("made");
        std::fs::copy(from.join(&file), target).expect("copied");
    }
}

#[test]
fn a_copy_of_which_a_part_is_missing_is_refused() {
    let folder = workload::folder();
    let store = filled(&folder.path().join("store"), 2, 300);
    let whole = folder.path().join("whole");
    store.checkpoint(&whole).expect("copied");
    let mut cases: Vec<(PathBuf, Option<u64>)> = Vec::new();
    for file in files(&whole, &whole) {
        let length = whole.join(&file).metadata().expect("there").len();
        cases.push((file.clone(), None));
        cases.extend([0, length / 2, length - 1].map(|cut| (file.clone(), Some(cut))));
    }
    let format = whole.join("FORMAT").metadata().expect("there").len();
    cases.extend((0..format - 2).map(|cut| ("FORMAT".into(), Some(cut))));
    // A file that is only cut by its last line's end is still all there.
    cases.retain(|(file, cut)| !(file == Path::new("FORMAT") && *cut == Some(format - 1)));
    for (number, (file, cut)) in cases.iter().enumerate() {
        let what = format!("{} cut to {cut:?}", file.display());
        let part = folder.path().join(format!("part {number}"));
        copy_folder(&whole, &part);
        match cut {
            None => std::fs::remove_file(part.join(file)).expect("removed"),
            Some(cut) => std::fs::File::options()
                .write(true)
                .open(part.join(file))
                .and_then(|file| file.set_len(*cut))
                .expect("cut"),
        }
        let before = files(&part, &part);
        match NodeStore::verify(&part) {
            Ok(checked) => assert!(!checked.is_sound(), "{what}"),
            Err(error) => assert_eq!(error.code(), "store.unknown_format", "{what}: {error}"),
        }
        let error = NodeStore::open(&part, &tiny()).map(drop).expect_err(&what);
        let expected = match error {
            OpenError::Corrupt { .. } => "store.corrupt",
            _ => "store.unknown_format",
        };
        assert_eq!(error.code(), expected, "{what}: {error}");
        let mut after = files(&part, &part);
        after.remove(Path::new("LOCK"));
        assert_eq!(after, before, "{what}: nothing is changed");
        std::fs::remove_dir_all(&part).expect("removed");
    }
    println!("{} parts refused", cases.len());
    assert_eq!(audit(&whole, 2, "the whole"), 300);
}

#[test]
fn every_damaged_file_is_found_and_named() {
    let folder = workload::folder();
    let path = folder.path().join("store");
    let store = filled(&path, 3, 300);
    let error = NodeStore::verify(&path).expect_err("it is open");
    assert_eq!(error.code(), "store.locked");
    let copy = folder.path().join("copy");
    store.checkpoint(&copy).expect("copied");
    drop(store);
    // Opening makes the copy an ordinary store. Its log contains no bytes of earlier segments.
    drop(NodeStore::open(&copy, &tiny()).expect("opens"));
    let checked = NodeStore::verify(&copy).expect("a store");
    assert!(checked.files > 3 && checked.bytes > 10_000 && checked.records > 1);
    sound(&copy, "before");
    let error = <Embedded<chain::port::Table>>::verify(&copy).expect_err("not a chain's");
    assert_eq!(error.code(), "store.unknown_format");
    let error = NodeStore::verify(&folder.path().join("no such")).expect_err("nothing there");
    assert_eq!(error.code(), "store.open_failed");
    let error = NodeStore::verify(folder.path()).expect_err("no store");
    assert_eq!(error.code(), "store.unknown_format");
    let mut numbers = Sequence(7);
    let mut spoiled = 0;
    for file in files(&copy, &copy) {
        // The inventory and its mark are compared when the store is opened.
        if ["FORMAT", "LOCK", "INVENTORY", "INVENTORY.mark"]
            .iter()
            .any(|name| file == Path::new(name))
        {
            continue;
        }
        let bytes = std::fs::read(copy.join(&file)).expect("readable");
        let length = bytes.len() as u64;
        // Behind a slot's header there is room that holds nothing.
        let places: Vec<u64> = match file.starts_with("log") {
            true if length <= 512 => vec![0, 8, 40],
            true => vec![0, 8, 40, 520, length / 2],
            false => (0..4).map(|_| numbers.below(length)).collect(),
        };
        for at in places {
            let mut damaged = bytes.clone();
            damaged[at as usize] ^= 0x40;
            std::fs::write(copy.join(&file), damaged).expect("written");
            let what = format!("byte {at} of {}", file.display());
            let checked =
                NodeStore::verify(&copy).unwrap_or_else(|error| panic!("{what}: {error}"));
            spoiled += 1;
            assert_eq!(checked.damaged, checked.damage.len() as u64);
            let table = file.ancestors().nth(1).expect("a folder");
            let named = checked.damage.iter().any(|damage| {
                damage.path.starts_with(copy.join(table)) && !damage.reason.is_empty()
            });
            assert!(named, "{what}: {checked:?}");
        }
        std::fs::write(copy.join(&file), bytes).expect("written");
    }
    println!("{spoiled} damages found");
    sound(&copy, "after");
}

/// The recorded process; runs only when the test below starts it. Prints `COPIED number batches-before batches-after sequence`.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let recorder = Recorder::new(&folder.join("disk"), &folder.join("log"));
    let store = filled(&folder.join("disk/store"), 4, 120);
    let mut written = 120;
    for copy in 0..3 {
        store
            .checkpoint(&folder.join(format!("disk/copy{copy}")))
            .expect("copied");
        let sequence = recorder.sequence().expect("a recording");
        println!("COPIED {copy} {written} {sequence}");
        for number in written + 1..=written + 40 {
            store.write(vec![batch(4, number)]).expect("written");
        }
        written += 40;
    }
}

#[test]
fn after_a_power_cut_a_copy_is_whole_or_refused_and_the_store_unharmed() {
    let folder = workload::folder();
    let folder = folder.path().canonicalize().expect("real");
    std::fs::create_dir(folder.join("disk")).expect("made");
    let recorder = Recorder::new(&folder.join("disk"), &folder.join("log"));
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["--exact", "copies::child", "--nocapture"])
        .env(FOLDER, &folder);
    let output = recorder
        .arm(&mut command)
        .output()
        .expect("the child starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    let copied: Vec<(u64, u64)> = text
        .lines()
        .filter_map(|line| line.split_once("COPIED "))
        .map(|(_, rest)| {
            let mut words = rest
                .split(' ')
                .skip(1)
                .map(|word| word.parse().expect("a number"));
            (
                words.next().expect("batches"),
                words.next().expect("a sequence"),
            )
        })
        .collect();
    assert_eq!(copied.len(), 3, "{text}");
    let recording = Recording::load(recorder.log()).expect("a recording");
    let mut numbers = Sequence(11);
    let (mut whole, mut refused) = (0, 0);
    for round in 0..60 {
        let (at, policy) = match round {
            // The moments at which each copy was told to be made.
            0..6 => (copied[round / 2].1, Policy::ALL[round % 2]),
            _ => (
                copied[0].1 - 200 + numbers.below(recording.last() - copied[0].1 + 200),
                Policy::ALL[numbers.below(Policy::ALL.len() as u64) as usize],
            ),
        };
        let what = format!("round {round}, after operation {at}, {policy:?}");
        let image = folder.join(format!("image {round}"));
        recording
            .image_at(at, policy, numbers.next(), &image)
            .expect("an image");
        audit(&image.join("store"), 4, &what);
        for (copy, (batches, sequence)) in copied.iter().enumerate() {
            let path = image.join(format!("copy{copy}"));
            let what = format!("{what}, copy {copy}");
            if !path.exists() {
                assert!(at < *sequence, "{what}: was made");
                continue;
            }
            if std::fs::read_dir(&path).expect("readable").next().is_none() {
                assert!(at < *sequence, "{what}: was made");
                continue;
            }
            match NodeStore::verify(&path) {
                Ok(checked) => {
                    assert!(checked.is_sound(), "{what}: {checked:?}");
                    assert_eq!(audit(&path, 4, &what), *batches, "{what}");
                    whole += 1;
                }
                Err(error) => {
                    assert!(at < *sequence, "{what}: was made, but {error}");
                    assert_eq!(error.code(), "store.unknown_format", "{what}: {error}");
                    let error = NodeStore::open(&path, &tiny()).map(drop).expect_err(&what);
                    assert_eq!(error.code(), "store.unknown_format", "{what}: {error}");
                    refused += 1;
                }
            }
        }
        std::fs::remove_dir_all(&image).expect("removed");
    }
    println!("{whole} copies whole, {refused} refused");
    assert!(whole > 6 && refused > 0);
}
