//! The recorder and the images it gives, on a process whose every step is known.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use diskimage::{Policy, Recorder, Recording};

const CHILD: &str = "DISKIMAGE_CHILD";

/// The recorded process; it runs only when a test below starts it. It prints the sequence after each step.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else {
        return;
    };
    let recorder = Recorder::new(&folder.join("disk"), &folder.join("log"));
    let disk = folder.join("disk");
    let step = |name: &str| {
        println!("STEP {name} {}", recorder.sequence().expect("a recording"));
    };
    let sync_folder = |path: &Path| File::open(path).and_then(|file| file.sync_all());
    step("start");
    let mut a = File::create(disk.join("a")).expect("created");
    a.write_all(b"one").expect("written");
    step("written");
    a.sync_data().expect("synced");
    step("file synced");
    sync_folder(&disk).expect("synced");
    step("named");
    a.write_all(b"two").expect("written");
    a.write_all_at(b"O", 0).expect("written");
    step("more written");
    fs::create_dir(disk.join("sub")).expect("created");
    let mut temporary = File::create(disk.join("sub/b.new")).expect("created");
    temporary.write_all(&[7; 2048]).expect("written");
    temporary.sync_all().expect("synced");
    // Renamed by a raw system call, as some libraries do.
    rename_unseen(&disk.join("sub/b.new"), &disk.join("sub/b"));
    sync_folder(&disk.join("sub")).expect("synced");
    sync_folder(&disk).expect("synced");
    step("renamed");
    fs::hard_link(disk.join("a"), disk.join("sub/c")).expect("linked");
    step("linked");
    fs::remove_file(disk.join("sub/c")).expect("removed");
    fs::remove_file(disk.join("a")).expect("removed");
    step("removed");
    sync_folder(&disk).expect("synced");
    step("removal synced");
    let b = OpenOptions::new()
        .write(true)
        .open(disk.join("sub/b"))
        .expect("opened");
    b.set_len(1024).expect("cut");
    b.write_all_at(&[9; 1024], 0).expect("written");
    step("rewritten");
    recorder.fail_syncs(1, 5).expect("armed");
    assert_eq!(b.sync_all().expect_err("fails").raw_os_error(), Some(5));
    recorder.heal().expect("healed");
    b.sync_all().expect("a second sync succeeds, in vain");
    step("sync failed");
    recorder.fail_writes(1, 28).expect("armed");
    assert_eq!(
        b.write_all_at(&[1], 0).expect_err("fails").raw_os_error(),
        Some(28)
    );
}

/// `mv` is not preloaded: its rename is one that the recorder cannot see.
fn rename_unseen(from: &Path, to: &Path) {
    let status = Command::new("mv")
        .arg(from)
        .arg(to)
        .env_remove("LD_PRELOAD")
        .status();
    assert!(status.expect("mv starts").success());
}

/// Every file of an image with its first bytes and length.
fn files(path: &Path) -> Vec<(String, Vec<u8>, usize)> {
    let mut found = Vec::new();
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let entry = entry.expect("an entry");
            if entry.metadata().expect("its kind").is_dir() {
                folders.push(entry.path());
            } else {
                let bytes = fs::read(entry.path()).expect("readable");
                let name = entry
                    .path()
                    .strip_prefix(path)
                    .expect("inside")
                    .display()
                    .to_string();
                found.push((name, bytes[..bytes.len().min(6)].to_vec(), bytes.len()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_survives_at_each_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("real");
    let recorder = Recorder::new(&folder.join("disk"), &folder.join("log"));
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["--exact", "images::child", "--nocapture"])
        .env(CHILD, &folder);
    let output = recorder
        .arm(&mut command)
        .output()
        .expect("the child starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let step = |name: &str| -> u64 {
        let line = text
            .lines()
            .find_map(|line| line.split_once(&format!("STEP {name} ")))
            .expect(name);
        line.1.trim().parse().expect("a number")
    };
    let recording = Recording::load(recorder.log()).expect("a recording");
    let image = |at: u64, policy, seed| {
        let out = tempfile::tempdir().expect("a folder");
        recording
            .image_at(at, policy, seed, out.path())
            .expect("an image");
        files(out.path())
    };
    let file = |name: &str, bytes: &[u8], length| (name.to_owned(), bytes.to_vec(), length);

    assert_eq!(image(step("start"), Policy::Kept, 0), []);
    assert_eq!(image(step("written"), Policy::Dropped, 0), []);
    assert_eq!(
        image(step("written"), Policy::Kept, 0),
        [file("a", b"one", 3)]
    );
    assert_eq!(
        image(step("file synced"), Policy::Dropped, 0),
        [],
        "its name is not durable"
    );
    assert_eq!(
        image(step("named"), Policy::Dropped, 0),
        [file("a", b"one", 3)]
    );
    assert_eq!(
        image(step("more written"), Policy::Dropped, 0),
        [file("a", b"one", 3)]
    );
    assert_eq!(
        image(step("more written"), Policy::Kept, 0),
        [file("a", b"Onetwo", 6)]
    );
    let subsets: std::collections::BTreeSet<Vec<u8>> = (0..64)
        .map(|seed| {
            image(step("more written"), Policy::Reordered, seed)[0]
                .1
                .clone()
        })
        .collect();
    let expected: Vec<Vec<u8>> = [&b"One"[..], b"Onetwo", b"one", b"onetwo"]
        .map(<[u8]>::to_vec)
        .to_vec();
    assert_eq!(subsets.into_iter().collect::<Vec<_>>(), expected);
    let b = file("sub/b", &[7; 6], 2048);
    assert_eq!(
        image(step("renamed"), Policy::Dropped, 0),
        [file("a", b"one", 3), b.clone()]
    );
    assert_eq!(
        image(step("linked"), Policy::Dropped, 0),
        [file("a", b"one", 3), b.clone()]
    );
    let both = [&b"one"[..], b"Onetwo"].map(|bytes| {
        let linked = |name| file(name, bytes, bytes.len());
        [linked("a"), b.clone(), linked("sub/c")]
    });
    assert_eq!(image(step("linked"), Policy::Kept, 0), both[1]);
    let linked = (0..64).map(|seed| image(step("linked"), Policy::Reordered, seed));
    assert!(linked.into_iter().any(|files| files == both[0]));
    assert_eq!(
        image(step("removed"), Policy::Dropped, 0),
        [file("a", b"one", 3), b.clone()]
    );
    assert_eq!(
        image(step("removed"), Policy::Kept, 0),
        std::slice::from_ref(&b)
    );
    assert_eq!(
        image(step("removal synced"), Policy::Dropped, 0),
        std::slice::from_ref(&b)
    );
    assert_eq!(
        image(step("rewritten"), Policy::Kept, 0),
        [file("sub/b", &[9; 6], 1024)]
    );
    let torn = (0..200)
        .map(|seed| image(step("rewritten"), Policy::Torn, seed))
        .any(|files| files[0].1 == [9; 6] && files[0].2 == 2048);
    assert!(torn, "one sector of two, without the cut");
    assert_eq!(
        image(recording.last(), Policy::Dropped, 0),
        [b],
        "a failed sync is not made good by a later one"
    );
}
