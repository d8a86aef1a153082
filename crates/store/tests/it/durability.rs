//! Durability as such: a recorded process commits; from the recording disks are rebuilt as a power cut would leave them
//! at any moment, reopened and audited. Everything acknowledged before that moment is there; nothing is half applied.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use diskimage::{Operation, Policy, Recorder, Recording};
use kernel::port::Table;
use primitives::storage::{TableSet, WriteBatch};
use store::{
    Class, Committer, CommitterOptions, Custody, CustodyKey, Embedded, OpenError, Options,
};

use crate::workload;
use crate::workload::{Cast, Sequence, assert_equals, batch, count, model, tiny};

type ChainTable = chain::port::Table;

const FOLDER: &str = "STORE_TEST_FOLDER";
const SEED: &str = "STORE_TEST_SEED";
const KIND: &str = "STORE_TEST_KIND";
const BATCHES: u64 = 700;

/// The folder whose writes are recorded: a node's folder, with the anchor outside its data.
const NODE: &str = "node";

fn options(node: &Path) -> Options {
    Options {
        custody: Some(Custody {
            inventory: node.join("data/ledger.inventory"),
            anchor: node.join("ledger.anchor"),
            key: CustodyKey::derive(&[3; 32]),
        }),
        ..tiny()
    }
}

/// Opens the store of a node's folder. An empty folder gets its anchor first, as bootstrapping again would do.
fn open<T: Cast>(node: &Path) -> Result<Embedded<T>, OpenError> {
    let options = options(node);
    let custody = options.custody.as_ref().expect("given");
    if !custody.anchor.exists() && !node.join("data").exists() {
        std::fs::create_dir_all(node).expect("made");
        custody.expect_new_store().map_err(|source| OpenError::Io {
            path: custody.anchor.clone(),
            source,
        })?;
    }
    Embedded::open(&node.join("data/ledger"), &options)
}

/// The recorded process; runs only when a test below starts it. Prints `ACK number sequence` and `FAILED number code`.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let seed: u64 = std::env::var(SEED)
        .ok()
        .and_then(|seed| seed.parse().ok())
        .expect("a seed");
    let kind = std::env::var(KIND).expect("a kind");
    if kind == Table::TITLE {
        commit_batches::<Table>(&folder, seed);
    } else {
        assert_eq!(kind, ChainTable::TITLE);
        commit_batches::<ChainTable>(&folder, seed);
    }
}

fn commit_batches<T: Cast>(folder: &Path, seed: u64) {
    let recorder = Recorder::new(&folder.join(NODE), &folder.join("log"));
    let store = match open::<T>(&folder.join(NODE)) {
        Ok(store) => store,
        Err(error) => {
            println!("OPEN FAILED {error}");
            return;
        }
    };
    let committer = Committer::start(
        store,
        CommitterOptions {
            raise_priority: false,
            ..CommitterOptions::default()
        },
    )
    .expect("starts");
    let handle = committer.handle();
    let lines = Arc::new(Mutex::new(Vec::new()));
    for number in 1..=BATCHES {
        let (recorder, lines) = (recorder.clone(), Arc::clone(&lines));
        // Every fifth submission is empty: it must complete in its turn, after those before it.
        let batch = if number % 5 == 0 {
            WriteBatch::default()
        } else {
            batch(seed, number / 5 * 4 + number % 5)
        };
        handle.submit(number, Class::Normal, batch, move |number, outcome| {
            let sequence = recorder.sequence().expect("a recording");
            lines.lock().expect("whole").push(match outcome {
                Ok(()) => format!("ACK {number} {sequence}"),
                Err(failure) => format!("FAILED {number} {} {}", failure.code, failure.message),
            });
        });
        if number % 7 == 0 {
            // Let some groups be small: wait for the queue.
            let _ = handle.commit(Class::Normal, WriteBatch::default());
        }
    }
    drop(committer);
    lines
        .lock()
        .expect("whole")
        .iter()
        .for_each(|line| println!("{line}"));
}

/// The child's report: the acknowledged counts of the workload, each with its sequence, and the failures.
struct Told {
    acknowledged: Vec<(u64, u64)>,
    failed: Vec<String>,
}

fn record<T: Cast>(folder: &Path, seed: u64, prepare: impl FnOnce(&Recorder)) -> (Recording, Told) {
    std::fs::create_dir_all(folder.join(NODE)).expect("made");
    let recorder = Recorder::new(&folder.join(NODE), &folder.join("log"));
    prepare(&recorder);
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["--exact", "durability::child", "--nocapture"])
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .env(KIND, T::TITLE);
    let output = recorder
        .arm(&mut command)
        .output()
        .expect("the child starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut told = Told {
        acknowledged: Vec::new(),
        failed: Vec::new(),
    };
    let mut in_order = 0;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("ACK ") {
            let (number, sequence) = rest.split_once(' ').expect("two numbers");
            let number: u64 = number.parse().expect("a number");
            if number > 0 {
                assert_eq!(
                    number,
                    in_order + 1,
                    "completions come in the order of submission"
                );
                in_order = number;
                let workload_count = number / 5 * 4 + number % 5;
                told.acknowledged
                    .push((workload_count, sequence.parse().expect("a number")));
            }
        } else if line.starts_with("FAILED ") || line.starts_with("OPEN FAILED") {
            told.failed.push(line.to_owned());
        }
    }
    (Recording::load(recorder.log()).expect("a recording"), told)
}

/// Rebuilds, opens and audits one disk. Gives how many batches it holds.
fn audit<T: Cast>(
    recording: &Recording,
    told: &Told,
    seed: u64,
    at: u64,
    policy: Policy,
    choice: u64,
) -> u64 {
    let what = format!(
        "{}, seed {seed}, after operation {at}, {policy:?} {choice}",
        T::TITLE
    );
    let folder = workload::folder();
    let path = folder.path().join(NODE);
    recording
        .image_at(at, policy, choice, &path)
        .expect("an image");
    let store = open::<T>(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
    let held = count(&store);
    let acknowledged = told
        .acknowledged
        .iter()
        .filter(|(_, sequence)| *sequence <= at)
        .map(|(count, _)| *count)
        .max();
    assert!(
        held >= acknowledged.unwrap_or(0),
        "{what}: {held} of {acknowledged:?} acknowledged"
    );
    assert_equals(&store, &model(seed, held), &what);
    // It is not only readable: it goes on, and again after a restart.
    for number in held + 1..held + 30 {
        store
            .write(vec![batch(seed, number)])
            .unwrap_or_else(|failure| panic!("{what}: {failure}"));
    }
    drop(store);
    let store = open::<T>(&path).unwrap_or_else(|error| panic!("{what}, again: {error}"));
    assert_equals(&store, &model(seed, held + 29), &what);
    held
}

/// Moments worth a look: around syncs and renames, and anywhere.
fn moments(recording: &Recording, numbers: &mut Sequence, limit: usize) -> Vec<u64> {
    let mut around: Vec<u64> = recording
        .operations()
        .filter(|(_, operation)| {
            matches!(
                operation,
                Some(
                    Operation::SyncBegin { .. }
                        | Operation::SyncEnd { .. }
                        | Operation::Rename { .. }
                        | Operation::Create { .. }
                        | Operation::Unlink { .. }
                )
            )
        })
        .flat_map(|(sequence, _)| [sequence - 1, sequence])
        .collect();
    while around.len() > limit {
        let at = numbers.below(around.len() as u64) as usize;
        around.swap_remove(at);
    }
    around.extend((0..limit / 2).map(|_| 1 + numbers.below(recording.last())));
    around
}

fn every_disk_that_a_power_cut_can_leave<T: Cast>(seeds: std::ops::Range<u64>) {
    let mut audited = 0;
    for seed in seeds {
        let folder = workload::folder();
        let (recording, told) =
            record::<T>(&folder.path().canonicalize().expect("real"), seed, |_| {});
        assert_eq!(
            (told.acknowledged.len() as u64, told.failed.len()),
            (BATCHES, 0)
        );
        let mut numbers = Sequence(seed);
        for at in moments(&recording, &mut numbers, 60) {
            for policy in Policy::ALL {
                audit::<T>(&recording, &told, seed, at, policy, numbers.next());
                audited += 1;
            }
        }
        let all = model(seed, BATCHES / 5 * 4);
        let store = open::<T>(&folder.path().join(NODE)).expect("opens");
        assert_equals(&store, &all, "the real disk");
        let held = audit::<T>(
            &recording,
            &told,
            seed,
            recording.last(),
            Policy::Dropped,
            0,
        );
        assert_eq!(
            held,
            BATCHES / 5 * 4,
            "everything was acknowledged, so nothing depends on what was not synced"
        );
    }
    println!("{audited} disks audited");
}

#[test]
fn every_disk_that_a_power_cut_can_leave_holds_what_a_node_was_acknowledged() {
    every_disk_that_a_power_cut_can_leave::<Table>(0..1);
}

#[test]
fn every_disk_that_a_power_cut_can_leave_holds_what_a_chain_was_acknowledged() {
    every_disk_that_a_power_cut_can_leave::<ChainTable>(1..2);
}

/// The anchor and the folder of the data are names in one directory. A power cut may keep the later one and lose the earlier one.
#[test]
fn a_store_that_a_power_cut_interrupts_while_it_is_made_opens_again() {
    const CHOICES: u64 = 16;
    let folder = workload::folder();
    let folder = folder.path().canonicalize().expect("real");
    let (recording, told) = record::<ChainTable>(&folder, 1, |_| {});
    let (_, first) = *told.acknowledged.first().expect("acknowledged");
    let renames = recording
        .operations()
        .filter(|(at, operation)| {
            *at <= first && matches!(operation, Some(Operation::Rename { .. }))
        })
        .map(|(at, _)| at);
    let renames: Vec<u64> = renames.collect();
    assert!(renames.len() > 2, "{renames:?}");
    for at in renames {
        for choice in 0..CHOICES {
            audit::<ChainTable>(&recording, &told, 1, at, Policy::Reordered, choice);
        }
    }
}

#[test]
fn a_full_or_failing_disk_is_reported_and_nothing_acknowledged_is_lost() {
    full_or_failing_disk::<Table>(0..18);
    full_or_failing_disk::<ChainTable>(18..36);
}

fn full_or_failing_disk<T: Cast>(rounds: std::ops::Range<u64>) {
    const ENOSPC: i32 = 28;
    const EIO: i32 = 5;
    let mut numbers = Sequence(99 + rounds.start);
    for round in rounds {
        let folder = workload::folder();
        let folder = folder.path().canonicalize().expect("real");
        let (recording, told) = record::<T>(&folder, round, |recorder| match round % 3 {
            0 => recorder
                .fail_writes(1 + numbers.below(1500), ENOSPC)
                .expect("armed"),
            1 => recorder
                .fail_syncs(1 + numbers.below(700), EIO)
                .expect("armed"),
            _ => {
                recorder
                    .fail_syncs(1 + numbers.below(700), EIO)
                    .expect("armed");
                recorder.fail_once().expect("armed");
            }
        });
        let what = format!(
            "round {round}, {} acknowledged, {} failed",
            told.acknowledged.len(),
            told.failed.len()
        );
        let opened = !told
            .failed
            .first()
            .is_some_and(|line| line.starts_with("OPEN FAILED"));
        if opened {
            assert_eq!(
                told.acknowledged.len() + told.failed.len(),
                BATCHES as usize,
                "{what}: each is answered once"
            );
            for line in &told.failed {
                assert!(line.contains("store.failed"), "{what}: {line}");
                assert!(
                    line.contains(&folder.display().to_string()),
                    "{what}: the path is named: {line}"
                );
            }
        }
        // The disk has space again, and the store is opened again.
        let acknowledged = told.acknowledged.last().map_or(0, |(count, _)| *count);
        let store = open::<T>(&folder.join(NODE)).unwrap_or_else(|error| panic!("{what}: {error}"));
        let held = count(&store);
        assert!(held >= acknowledged, "{what}: {held} of {acknowledged}");
        assert_equals(&store, &model(round, held), &what);
        store
            .write(vec![batch(round, held + 1)])
            .expect("writes again");
        for policy in Policy::ALL {
            audit::<T>(&recording, &told, round, recording.last(), policy, round);
        }
    }
}
