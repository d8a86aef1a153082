//! Files by their content: a table of operations and results, and a comparison with a model.

use std::collections::BTreeMap;
use std::path::Path;

use primitives::{Coded, Hash};
use proptest::prelude::*;
use store::{
    Files, FilesError, FilesOptions, NOTE_BYTES_MAX, PartId, Published, Removed, SYNC_BYTES,
};

/// Returns a folder in memory where the system offers one: these tests check the written bytes, not the
/// speed of a disk.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().expect("a folder"))
}

fn options() -> FilesOptions {
    FilesOptions {
        keep_free_bytes: 0,
        boot: "this one".into(),
    }
}

fn open(folder: &Path) -> Files {
    Files::open(folder, options()).expect("opens")
}

fn put(files: &Files, id: u8, bytes: &[u8]) -> Published {
    let mut part = files.part(PartId::Upload([id; 16])).expect("a part");
    part.write(bytes).expect("written");
    part.finish(None, None).expect("published")
}

fn content(files: &Files, hash: &Hash) -> Option<Vec<u8>> {
    let reader = files.reader(hash).expect("readable")?;
    let mut bytes = vec![0; reader.size() as usize];
    assert_eq!(reader.read_at(0, &mut bytes).expect("read"), bytes.len());
    Some(bytes)
}

/// Names of everything in the folder but the lock, the boot file and the folders that are always there.
fn left(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("inside").display();
            match (path.is_dir(), name.to_string().as_str()) {
                (true, _) => folders.push(path.clone()),
                (false, "LOCK" | "BOOT") => {}
                (false, name) => found.push(name.to_owned()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_file_is_stored_once_and_read_anywhere() {
    let folder = folder();
    let files = open(folder.path());
    let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    let first = put(&files, 1, &bytes);
    assert_eq!((first.hash, first.size), (Hash::plain(&bytes), 400_000));
    assert!(!first.was_here);
    let second = put(&files, 2, &bytes);
    assert!(second.was_here && second.hash == first.hash);
    let hash = first.hash;
    assert_eq!(
        left(folder.path()),
        [format!("files/{}/{hash}", &hash.to_string()[..2])]
    );
    let reader = files.reader(&hash).expect("readable").expect("there");
    let mut buffer = [0; 1_000];
    for (offset, expected) in [
        (0, 1_000),
        (399_999, 1),
        (399_500, 500),
        (400_000, 0),
        (u64::MAX, 0),
    ] {
        let read = reader.read_at(offset, &mut buffer).expect("read");
        assert_eq!(read, expected, "at {offset}");
        let from = offset.min(400_000) as usize;
        assert_eq!(&buffer[..read], &bytes[from..from + read]);
    }
    files.forget_cached(&hash).expect("forgotten");
    assert_eq!(files.verify(&hash).expect("sound"), Some(400_000));
    let listed: Vec<_> = files.list().map(|file| file.expect("listed")).collect();
    assert_eq!(
        (listed.len(), listed[0].hash, listed[0].size),
        (1, hash, 400_000)
    );
    // Claims keep it; a reader outlives it.
    assert_eq!(files.remove(&hash).expect("asked"), Removed::Claimed);
    drop(first);
    assert_eq!(files.remove(&hash).expect("asked"), Removed::Claimed);
    drop(second);
    assert_eq!(
        files.remove_unless(&hash, || true).expect("asked"),
        Removed::Kept
    );
    assert_eq!(files.remove(&hash).expect("asked"), Removed::Gone);
    assert_eq!(files.remove(&hash).expect("asked"), Removed::Absent);
    assert!(files.claim(&hash).expect("asked").is_none());
    assert_eq!(reader.read_at(0, &mut buffer).expect("read"), 1_000);
    assert!(files.reader(&hash).expect("asked").is_none());
    assert!(left(folder.path()).is_empty());
}

#[test]
fn an_empty_file_is_a_file() {
    let folder = folder();
    let files = open(folder.path());
    let empty = put(&files, 1, b"");
    assert_eq!(empty.hash, Hash::plain(b""));
    assert_eq!(content(&files, &empty.hash), Some(Vec::new()));
}

#[test]
fn lies_leave_nothing_behind_and_what_is_short_waits_for_the_rest() {
    let (right, wrong) = (Hash::plain(b"hello"), Hash::plain(b"hullo"));
    // The promised hash and size, the error code, and whether the part stays.
    for (expected, size, code, stays) in [
        (Some(wrong), None, "files.mismatch", false),
        (Some(wrong), Some(5), "files.mismatch", false),
        (Some(right), Some(4), "files.wrong_size", false),
        (None, Some(0), "files.wrong_size", false),
        (Some(right), Some(6), "files.wrong_size", true),
    ] {
        let folder = folder();
        let files = open(folder.path());
        let id = PartId::Upload([1; 16]);
        let mut part = files.new_part(id, b"mine").expect("a part");
        part.write(b"hello").expect("written");
        let error = part.finish(expected, size).expect_err("refused");
        assert_eq!(error.code(), code);
        assert!(error.is_senders_fault() && !error.hint().is_empty());
        assert_eq!(left(folder.path()).is_empty(), !stays, "{code} {size:?}");
        assert_eq!(files.list().count(), 0);
        assert_eq!(files.find_part(id).expect("asked").is_some(), stays);
    }
}

#[test]
fn a_part_goes_on_where_it_was() {
    let folder = folder();
    let bytes: Vec<u8> = (0..3 * SYNC_BYTES + 77)
        .map(|at| (at / 7 + at) as u8)
        .collect();
    let hash = Hash::plain(&bytes);
    let id = PartId::Fetch(hash);
    let mut at = 0;
    for step in [1, SYNC_BYTES as usize - 1, 10, 2 * SYNC_BYTES as usize] {
        let files = open(folder.path());
        let mut part = files.new_part(id, b"who and why").expect("a part");
        assert_eq!((part.len(), part.resumed()), (at as u64, at as u64));
        part.write(&bytes[at..at + step]).expect("written");
        at += step;
        assert!(matches!(files.part(id), Err(FilesError::Busy { .. })));
        assert!(matches!(
            files.remove_part(id),
            Err(FilesError::Busy { .. })
        ));
        let parts = files.parts().expect("listed");
        assert_eq!((parts.len(), parts[0].id, parts[0].len), (1, id, at as u64));
        assert!(parts[0].open);
        drop(part);
        assert!(!files.parts().expect("listed")[0].open);
        assert_eq!(
            files.note(&id).expect("read").as_deref(),
            Some(&b"who and why"[..])
        );
    }
    let files = open(folder.path());
    let mut part = files.find_part(id).expect("asked").expect("there");
    part.write(&bytes[at..]).expect("written");
    let published = part
        .finish(Some(hash), Some(bytes.len() as u64))
        .expect("right");
    assert_eq!(content(&files, &published.hash), Some(bytes));
    assert_eq!(left(folder.path()).len(), 1);
    assert!(!files.remove_part(id).expect("asked"));
}

#[test]
fn after_the_machine_went_down_only_what_was_synced_is_believed() {
    let long = vec![1; SYNC_BYTES as usize];
    for (bytes, believed) in [
        (0, 0),
        (1, 0),
        (SYNC_BYTES as usize, 0),
        (SYNC_BYTES as usize + 1, SYNC_BYTES),
        (2 * SYNC_BYTES as usize, SYNC_BYTES),
        (2 * SYNC_BYTES as usize + 9, 2 * SYNC_BYTES),
    ] {
        for (boot, expected) in [
            ("this one", bytes as u64),
            ("another", believed),
            ("", believed),
        ] {
            let folder = folder();
            let mut part = open(folder.path())
                .part(PartId::Upload([1; 16]))
                .expect("a part");
            let mut left = bytes;
            while left > 0 {
                let step = left.min(long.len());
                part.write(&long[..step]).expect("written");
                left -= step;
            }
            drop(part);
            let boot = boot.to_owned();
            let files =
                Files::open(folder.path(), FilesOptions { boot, ..options() }).expect("opens");
            let part = files.part(PartId::Upload([1; 16])).expect("a part");
            assert_eq!(part.len(), expected, "{bytes} bytes");
        }
    }
}

#[test]
fn a_disk_that_is_full_refuses_and_keeps_the_part() {
    let folder = folder();
    let keep_free_bytes = u64::MAX - 1;
    let full = FilesOptions {
        keep_free_bytes,
        ..options()
    };
    let files = Files::open(folder.path(), full).expect("opens");
    assert_eq!(
        files.room_for(1).expect_err("full").code(),
        "files.disk_full"
    );
    let mut part = files.part(PartId::Upload([1; 16])).expect("a part");
    for _ in 0..3 {
        assert!(matches!(part.write(b"x"), Err(FilesError::Full { .. })));
        assert_eq!(part.len(), 0);
    }
    drop((part, files));
    assert_eq!(open(folder.path()).parts().expect("listed").len(), 1);
}

#[test]
fn a_part_that_cannot_be_finished_stays_or_goes_as_its_owner_wants() {
    for (or_discard, left_over) in [(false, 2), (true, 0)] {
        let folder = folder();
        let files = open(folder.path());
        let hash = Hash::plain(b"hello").to_string();
        let place = folder.path().join(format!("files/{}/{hash}", &hash[..2]));
        std::fs::create_dir(&place).expect("in its way");
        let id = PartId::Upload([1; 16]);
        let mut part = files.new_part(id, b"mine").expect("a part");
        part.write(b"hello").expect("written");
        let finished = match or_discard {
            true => part.finish_or_discard(None, None),
            false => part.finish(None, None),
        };
        assert_eq!(finished.expect_err("refused").code(), "files.damaged");
        let parts = std::fs::read_dir(folder.path().join("parts")).expect("listed");
        assert_eq!(parts.count(), left_over, "the part and its note");
        std::fs::remove_dir(&place).expect("out of its way");
        let mut again = files.part(id).expect("a part");
        assert_eq!(again.len(), if or_discard { 0 } else { 5 });
        again
            .write(&b"hello"[again.len() as usize..])
            .expect("written");
        assert_eq!(again.finish(None, None).expect("whole").size, 5);
    }
}

#[test]
fn a_part_that_cannot_be_made_leaves_no_note() {
    let folder = folder();
    let files = open(folder.path());
    let id = PartId::Upload([1; 16]);
    let part = folder.path().join(format!("parts/u-{}", "01".repeat(16)));
    std::os::unix::fs::symlink("nowhere", &part).expect("linked");
    let refused = files.new_part(id, b"mine").expect_err("a link");
    assert_eq!(refused.code(), "files.failed");
    assert_eq!(files.note(&id).expect("asked"), None);
}

#[test]
fn one_process_at_a_time() {
    let folder = folder();
    let _files = open(folder.path());
    let again = Files::open(folder.path(), options()).expect_err("locked");
    assert_eq!(again.code(), "files.locked");
}

#[test]
fn links_and_folders_in_a_files_place_are_not_followed() {
    let folder = folder();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, b"of others").expect("written");
    let files = open(&folder.path().join("files of a node"));
    let hash = Hash::plain(b"of others");
    let place = files
        .folder()
        .join(format!("files/{}/{hash}", &hash.to_string()[..2]));
    let part = files.folder().join(format!("parts/u-{}", "01".repeat(16)));
    std::os::unix::fs::symlink(&secret, &place).expect("linked");
    std::os::unix::fs::symlink(&secret, &part).expect("linked");
    assert_eq!(
        files.reader(&hash).expect_err("a link").code(),
        "files.damaged"
    );
    assert_eq!(
        files.size(&hash).expect_err("a link").code(),
        "files.damaged"
    );
    assert!(files.part(PartId::Upload([1; 16])).is_err());
    std::fs::remove_file(&place).expect("removed");
    std::fs::create_dir(&place).expect("made");
    assert_eq!(
        files.reader(&hash).expect_err("a folder").code(),
        "files.damaged"
    );
    assert_eq!(files.list().count(), 0);
    assert_eq!(std::fs::read(&secret).expect("read"), b"of others");
}

#[test]
fn names_that_are_not_ours_are_passed_over_and_lone_notes_go() {
    let folder = folder();
    drop(open(folder.path()));
    let hash = Hash::plain(b"x").to_string();
    let id = "00".repeat(16);
    let strays = [
        "files/00/readme".to_owned(),
        // On the wrong shelf, and in capitals.
        format!("files/00/{hash}"),
        format!("files/{}/{}", &hash[..2], hash.to_uppercase()),
        "parts/readme".to_owned(),
        format!("parts/u-{id}x"),
    ];
    let rubbish = [
        format!("parts/u-{id}.note"),
        format!("parts/u-{id}.note.new"),
    ];
    for name in strays.iter().chain(&rubbish) {
        std::fs::write(folder.path().join(name), b"x").expect("written");
    }
    let files = open(folder.path());
    assert_eq!(
        (files.list().count(), files.parts().expect("listed").len()),
        (0, 0)
    );
    let mut strays = strays.to_vec();
    strays.sort();
    assert_eq!(left(folder.path()), strays);
    let note = vec![0; NOTE_BYTES_MAX + 1];
    let refused = files
        .new_part(PartId::Upload([0; 16]), &note)
        .expect_err("too long");
    assert_eq!(refused.code(), "files.note_too_long");
}

#[test]
fn a_file_that_changed_on_disk_is_noticed_and_replaced_by_the_next_upload() {
    let folder = folder();
    let files = open(folder.path());
    let hash = put(&files, 1, b"as it was").hash;
    let path = folder
        .path()
        .join(format!("files/{}/{hash}", &hash.to_string()[..2]));
    let reader = files.reader(&hash).expect("readable").expect("there");
    std::fs::write(&path, b"bs it was").expect("written");
    assert_eq!(
        files.verify(&hash).expect_err("changed").code(),
        "files.damaged"
    );
    std::fs::write(&path, b"cut").expect("written");
    assert_eq!(
        reader.read_at(0, &mut [0; 9]).expect_err("cut").code(),
        "files.damaged"
    );
    assert!(!put(&files, 2, b"as it was").was_here);
    assert_eq!(content(&files, &hash).as_deref(), Some(&b"as it was"[..]));
}

#[test]
fn publishing_and_removing_at_once_never_loses_a_claimed_file() {
    let folder = folder();
    let files = open(folder.path());
    std::thread::scope(|scope| {
        for id in 0..4 {
            let files = &files;
            scope.spawn(move || {
                for _ in 0..100 {
                    let published = put(files, id, b"wanted by all");
                    assert!(content(files, &published.hash).is_some());
                    drop(published.claim);
                    files.remove(&published.hash).expect("asked");
                }
            });
        }
    });
    assert!(left(folder.path()).is_empty());
}

#[derive(Clone, Debug)]
enum Deed {
    Write(u8, u8, usize),
    Finish(u8, bool, i8),
    Discard(u8),
    Remove(u8),
    Reopen,
}

fn deed() -> impl Strategy<Value = Deed> {
    let part = 0..4u8;
    prop_oneof![
        8 => (part.clone(), 0..2u8, 0..40_000usize).prop_map(|(p, b, n)| Deed::Write(p, b, n)),
        4 => (part.clone(), prop::bool::weighted(0.8), -1..=1i8).prop_map(|(p, h, s)| Deed::Finish(p, h, s)),
        1 => part.prop_map(Deed::Discard),
        2 => any::<u8>().prop_map(Deed::Remove),
        1 => Just(Deed::Reopen),
    ]
}

proptest! {
    #![proptest_config(properties::config!(48))]

    #[test]
    fn files_are_what_a_map_of_bytes_is(deeds in prop::collection::vec(deed(), 1..60)) {
        let folder = folder();
        let mut files = open(folder.path());
        let mut parts: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        let mut whole: BTreeMap<Hash, Vec<u8>> = BTreeMap::new();
        for deed in deeds {
            match deed {
                Deed::Write(id, byte, count) => {
                    let model = parts.entry(id).or_default();
                    let mut part = files.part(PartId::Upload([id; 16])).expect("a part");
                    prop_assert_eq!(part.len(), model.len() as u64);
                    let bytes = vec![byte; count];
                    part.write(&bytes).expect("written");
                    model.extend_from_slice(&bytes);
                }
                Deed::Finish(id, right, off) => {
                    let found = files.find_part(PartId::Upload([id; 16])).expect("asked");
                    prop_assert_eq!(found.is_some(), parts.contains_key(&id));
                    let (Some(part), Some(bytes)) = (found, parts.get(&id).cloned()) else { continue };
                    let hash = Hash::plain(&bytes);
                    let expected = if right { hash } else { Hash::ZERO };
                    let size = (bytes.len() as u64).checked_add_signed(off.into()).unwrap_or(0);
                    let gap = size.cmp(&(bytes.len() as u64));
                    let outcome = part.finish(Some(expected), Some(size));
                    prop_assert_eq!(outcome.is_ok(), right && gap.is_eq());
                    if !gap.is_gt() {
                        parts.remove(&id);
                    }
                    if let Ok(published) = outcome {
                        prop_assert_eq!(published.was_here, whole.contains_key(&hash));
                        whole.insert(hash, bytes);
                    }
                }
                Deed::Discard(id) => {
                    let there = files.remove_part(PartId::Upload([id; 16])).expect("asked");
                    prop_assert_eq!(there, parts.remove(&id).is_some());
                }
                Deed::Remove(which) => {
                    let hash = whole.keys().nth(usize::from(which) % whole.len().max(1)).copied();
                    let removed = files.remove(&hash.unwrap_or_default()).expect("asked");
                    let expected = hash.map_or(Removed::Absent, |_| Removed::Gone);
                    prop_assert_eq!(removed, expected);
                    whole.remove(&hash.unwrap_or_default());
                }
                Deed::Reopen => {
                    drop(files);
                    files = open(folder.path());
                }
            }
            let listed: BTreeMap<Hash, u64> = files.list().map(|file| file.expect("listed")).map(|file| (file.hash, file.size)).collect();
            let expected: BTreeMap<Hash, u64> = whole.iter().map(|(hash, bytes)| (*hash, bytes.len() as u64)).collect();
            prop_assert_eq!(listed, expected);
        }
        for (hash, bytes) in &whole {
            let found = content(&files, hash);
            prop_assert_eq!(found.as_ref(), Some(bytes));
        }
        prop_assert_eq!(left(folder.path()).len(), whole.len() + parts.len());
    }
}
