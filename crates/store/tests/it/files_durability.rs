//! Files after a power cut: a recorded process publishes files; disks are rebuilt as a cut would leave them at any moment.
//! Every file that was acknowledged is there; under a file's name there is never anything but that file; a part that was
//! found leads to the right file.

use std::path::{Path, PathBuf};
use std::process::Command;

use diskimage::{Operation, Policy, Recorder, Recording};
use primitives::{Coded, Hash};
use store::{Files, FilesOptions, PartId, SYNC_BYTES};

use crate::workload;
use crate::workload::Sequence;

const FOLDER: &str = "FILES_TEST_FOLDER";
const FILES: u64 = 24;

/// The bytes of a file: some empty, most small, some over a boundary at which parts are synced.
fn bytes(number: u64) -> Vec<u8> {
    let mut numbers = Sequence(number);
    let length = match number % 10 {
        0 => 0,
        7 => SYNC_BYTES + 1 + numbers.below(100_000),
        _ => numbers.below(50_000),
    };
    // Never a zero: the zeroes of a lost write then belong to no file.
    (0..length)
        .map(|_| 1 + numbers.next() as u8 % 255)
        .collect()
}

fn id(number: u64) -> PartId {
    match number % 3 {
        0 => PartId::Fetch(Hash::plain(&bytes(number))),
        _ => PartId::Upload([number as u8; 16]),
    }
}

fn options(boot: &str) -> FilesOptions {
    FilesOptions {
        keep_free_bytes: 0,
        boot: boot.into(),
    }
}

/// The recorded process; runs only when a test below starts it.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let recorder = Recorder::new(&folder.join("files"), &folder.join("log"));
    let files = match Files::open(&folder.join("files"), options("before the cut")) {
        Ok(files) => files,
        Err(error) => {
            println!("FAILED open {} {error}", error.code());
            return;
        }
    };
    for number in 0..FILES {
        let bytes = bytes(number);
        // Every fifth comes twice; every eighth stays a part.
        for _ in 0..if number % 5 == 0 { 2 } else { 1 } {
            let outcome = (|| {
                let mut part = files.new_part(id(number), &number.to_be_bytes())?;
                let done = part.len() as usize;
                for piece in bytes[done..].chunks(16_000) {
                    part.write(piece)?;
                }
                match number % 8 {
                    5 => Ok(None),
                    _ => part.finish(None, Some(bytes.len() as u64)).map(Some),
                }
            })();
            let sequence = recorder.sequence().expect("a recording");
            match outcome {
                Ok(Some(published)) => {
                    assert_eq!(published.hash, Hash::plain(&bytes));
                    println!("ACK {number} {sequence}");
                }
                Ok(None) => {}
                Err(error) => println!("FAILED {number} {} {error}", error.code()),
            }
        }
    }
}

/// Numbers of files with the sequences at which they were acknowledged; failures.
struct Told {
    acknowledged: Vec<(u64, u64)>,
    failed: Vec<String>,
}

fn record(folder: &Path, prepare: impl FnOnce(&Recorder)) -> (Recording, Told) {
    let recorder = Recorder::new(&folder.join("files"), &folder.join("log"));
    prepare(&recorder);
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["--exact", "files_durability::child", "--nocapture"])
        .env(FOLDER, folder);
    let output = recorder
        .arm(&mut command)
        .output()
        .expect("the child starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{words}");
    let mut told = Told {
        acknowledged: Vec::new(),
        failed: Vec::new(),
    };
    for line in text.lines() {
        if let Some((number, sequence)) = line.strip_prefix("ACK ").and_then(|l| l.split_once(' '))
        {
            let read = |text: &str| text.parse().expect("a number");
            told.acknowledged.push((read(number), read(sequence)));
        } else if line.starts_with("FAILED ") {
            told.failed.push(line.to_owned());
        }
    }
    (Recording::load(recorder.log()).expect("a recording"), told)
}

fn audit(recording: &Recording, told: &Told, at: u64, policy: Policy, choice: u64) {
    let what = format!("after operation {at}, {policy:?} {choice}");
    let folder = workload::folder();
    let path = folder.path().join("files");
    recording
        .image_at(at, policy, choice, &path)
        .expect("an image");
    let files = Files::open(&path, options("after the cut"))
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    for found in files.list() {
        let found = found.expect("listed");
        let whole = files.verify(&found.hash);
        assert_eq!(
            whole.unwrap_or_else(|error| panic!("{what}: {error}")),
            Some(found.size)
        );
    }
    for (number, sequence) in &told.acknowledged {
        let there = files.size(&Hash::plain(&bytes(*number))).expect("asked");
        assert!(
            there.is_some() || *sequence > at,
            "{what}: {number} was acknowledged"
        );
    }
    // Each remaining part can be continued to the right file.
    for found in files.parts().expect("listed") {
        let Some(number) = (0..FILES).find(|number| id(*number) == found.id) else {
            panic!("{what}: a part without an owner");
        };
        let bytes = bytes(number);
        let mut part = files.part(found.id).expect("a part");
        part.write(&bytes[part.len() as usize..]).expect("written");
        let published = part.finish(Some(Hash::plain(&bytes)), None);
        published.unwrap_or_else(|error| panic!("{what}: file {number}: {error}"));
    }
    assert!(files.parts().expect("listed").is_empty());
}

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
                        | Operation::Truncate { .. }
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

#[test]
fn every_disk_that_a_power_cut_can_leave_holds_whole_files_only() {
    let folder = workload::folder();
    let folder = folder.path().canonicalize().expect("real");
    let (recording, told) = record(&folder, |_| {});
    assert!(told.failed.is_empty(), "{:?}", told.failed);
    assert!(told.acknowledged.len() as u64 > FILES / 2);
    let mut numbers = Sequence(7);
    for at in moments(&recording, &mut numbers, 24) {
        for policy in Policy::ALL {
            audit(&recording, &told, at, policy, numbers.next());
        }
    }
    audit(&recording, &told, recording.last(), Policy::Dropped, 0);
}

#[test]
fn a_full_or_failing_disk_is_reported_and_costs_no_acknowledged_file() {
    const ENOSPC: i32 = 28;
    const EIO: i32 = 5;
    let mut numbers = Sequence(5);
    for round in 0..6 {
        let folder = workload::folder();
        let folder = folder.path().canonicalize().expect("real");
        let (recording, told) = record(&folder, |recorder| match round % 3 {
            0 => recorder
                .fail_writes(1 + numbers.below(1_000), ENOSPC)
                .expect("armed"),
            1 => recorder
                .fail_syncs(1 + numbers.below(150), EIO)
                .expect("armed"),
            _ => {
                recorder
                    .fail_syncs(1 + numbers.below(150), EIO)
                    .expect("armed");
                recorder.fail_once().expect("armed");
            }
        });
        let code = if round % 3 == 0 {
            "files.disk_full"
        } else {
            "files.failed"
        };
        for line in &told.failed {
            assert!(
                line.contains(code) && line.contains("/files"),
                "round {round}: {line}"
            );
        }
        // The disk is well again.
        audit(&recording, &told, recording.last(), Policy::Kept, round);
        audit(&recording, &told, recording.last(), Policy::Torn, round);
        let at = 1 + numbers.below(recording.last());
        audit(&recording, &told, at, Policy::Torn, round);
    }
}
