//! The store behind a server against a map: restarts, with the cache, without it, and with an older one.

use std::fs;
use std::path::Path;

use crate::rig::{Rig, cache_path, server, settings, wait_for};
use crate::workload::{Sequence, assert_equals, count, model};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).expect("copied")),
        }
    }
}

#[test]
fn random_batches_with_restarts_equal_the_model() {
    let (server, seed) = (server(), 1);
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let older = folder.path().join("older");
    let (cache, mut numbers, mut last) = (cache_path(folder.path()), Sequence(seed), 0);
    for restart in 0..12 {
        let what = ["kept", "lost", "older"][restart % 3];
        match what {
            "lost" => fs::remove_dir_all(&cache).expect("removed"),
            "older" if older.exists() => {
                fs::remove_dir_all(&cache).expect("removed");
                fs::rename(&older, &cache).expect("moved");
            }
            _ => {}
        }
        let rig = Rig::open(&settings, folder.path()).expect("opens");
        assert_equals(&rig.cache, &model(seed, last), &format!("cache {what}"));
        let next = last + 1 + numbers.below(150);
        rig.commit(seed, last + 1, next);
        last = next;
        assert_equals(&rig.cache, &model(seed, last), "running");
        if numbers.below(2) == 0 {
            wait_for("a fold", || rig.database.figures().folded > 0);
        }
        drop(rig);
        if restart % 3 == 0 {
            let _ = fs::remove_dir_all(&older);
            copy(&cache, &older);
        }
    }
    let reads = server.query("select count(*) from bank_a.commits");
    assert!(reads.expect("readable") != "0");
}

#[test]
fn a_new_process_without_a_cache_starts_from_folded_rows() {
    let (server, seed) = (server(), 2);
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    rig.commit(seed, 1, 400);
    let confirmed = rig.database.figures().confirmed;
    wait_for("all rows", || rig.database.figures().folded == confirmed);
    drop(rig);
    // Commits are kept for half a minute. This is the state after it.
    server
        .query("delete from bank_a.commits where number <= (select number from bank_a.folded)")
        .expect("deleted");
    let elsewhere = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, elsewhere.path()).expect("opens");
    assert_equals(&rig.cache, &model(seed, 400), "copied");
    rig.commit(seed, 401, 410);
    drop(rig);
    // The first cache lacks commits that are gone.
    wait_for("the fold of the rest", || {
        let rig = Rig::open(&settings, elsewhere.path()).expect("opens");
        wait_for("a fold", || {
            rig.database.figures().folded == rig.database.figures().confirmed
        });
        true
    });
    server
        .query("delete from bank_a.commits where number <= (select number from bank_a.folded)")
        .expect("deleted");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    assert_equals(&rig.cache, &model(seed, 410), "made anew");
    assert_eq!(count(&rig.cache), 410);
}

#[test]
fn nodes_with_schemas_of_their_own_share_a_server() {
    let server = server();
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let open = |node: usize| {
        let mut settings = settings(&server);
        settings.schema = format!("node_{node}");
        Rig::open(&settings, folders[node].path()).expect("opens")
    };
    let (first, second) = (open(0), open(1));
    first.commit(3, 1, 50);
    second.commit(4, 1, 70);
    assert_equals(&first.cache, &model(3, 50), "the first node");
    assert_equals(&second.cache, &model(4, 70), "the second node");
}
