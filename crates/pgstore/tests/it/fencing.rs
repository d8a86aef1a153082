//! Two processes and one schema: the lease, and the fence against a deposed process.

use std::time::Duration;

use pgstore::{DatabaseError, Settings};
use primitives::Coded;
use primitives::storage::{FailureKind, StoreFailure, TableSet};

use crate::rig::{DEADLINE, Rig, server, settings, take_over, wait_for};
use crate::workload::{assert_equals, model};

#[test]
fn a_running_process_keeps_its_lease() {
    let server = server();
    let settings = settings(&server);
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let first = Rig::open(&settings, folders[0].path()).expect("opens");
    let refused = Rig::open(&settings, folders[1].path()).map(drop);
    let refused = refused.expect_err("the first one runs");
    assert!(matches!(refused, DatabaseError::Held { .. }), "{refused}");
    first.commit(1, 1, 10);
}

#[test]
fn a_stopped_process_leaves_its_lease_at_once() {
    let server = server();
    let mut settings = settings(&server);
    settings.lease = Duration::from_secs(3_600);
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    for (number, folder) in folders.iter().enumerate() {
        let rig = Rig::open(&settings, folder.path()).expect("opens");
        let number = number as u64;
        rig.commit(1, 1 + number * 10, 10 + number * 10);
    }
}

#[test]
fn a_deposed_process_writes_nothing() {
    let (server, seed) = (server(), 9);
    let settings = settings(&server);
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let first = Rig::open(&settings, folders[0].path()).expect("opens");
    first.commit(seed, 1, 50);
    let (told, lost) = std::sync::mpsc::channel();
    first
        .database
        .on_loss(move |failure: &StoreFailure| told.send(failure.code).expect("the test listens"));
    let second = take_over(&server, &settings, folders[1].path());
    assert_equals(&second.cache, &model(seed, 50), "taken over");
    let answers = first.submit(seed, 51, 60);
    for _ in 51..=60 {
        let (_, outcome) = answers.recv_timeout(DEADLINE).expect("an answer");
        assert_eq!(outcome.expect_err("deposed").code, "database.deposed");
    }
    assert_eq!(lost.recv_timeout(DEADLINE), Ok("database.deposed"));
    second.commit(seed, 51, 80);
    drop(first);
    second.commit(seed, 81, 90);
    assert_equals(&second.cache, &model(seed, 90), "after the first one ended");
}

#[test]
fn a_process_cut_off_ends_with_its_lease_if_another_one_waits() {
    let (mut server, seed) = (server(), 15);
    let settings = settings(&server);
    let lease = settings.lease;
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let first = Rig::open(&settings, folders[0].path()).expect("opens");
    first.commit(seed, 1, 20);
    assert!(!first.database.has_waited());
    let (told, lost) = std::sync::mpsc::channel();
    first.database.on_loss(move |failure: &StoreFailure| {
        told.send((failure.kind, failure.code))
            .expect("the test listens");
    });
    let standby = Settings {
        standby: true,
        ..settings
    };
    let folder = folders[1].path().to_path_buf();
    let second = std::thread::spawn(move || Rig::open(&standby, &folder));
    // The first process learns of the second one when it renews its lease.
    let announced = "select count(*) from pg_locks where locktype = 'advisory'";
    let renewed = "select expires from bank_a.lease";
    wait_for("the second one waits", || {
        server.query(announced).expect("readable") == "1"
    });
    let before = server.query(renewed).expect("readable");
    wait_for("a renewal", || {
        server.query(renewed).expect("readable") != before
    });
    first.commit(seed, 21, 30);
    // The answer to that renewal may be on its way while the commits are confirmed, but not any more when the next one is sent.
    let before = server.query(renewed).expect("readable");
    wait_for("a renewal", || {
        server.query(renewed).expect("readable") != before
    });
    server.stop().expect("stops");
    // Much earlier than after `give_up`.
    let told = lost.recv_timeout(lease * 15);
    assert_eq!(told, Ok((FailureKind::Superseded, "database.lease_ended")));
    server.run().expect("runs again");
    let second = second.join().expect("no panic").expect("takes over");
    assert!(second.database.has_waited());
    second.commit(seed, 31, 40);
    assert_equals(&second.cache, &model(seed, 40), "taken over");
    let waiting = server.query(announced).expect("readable");
    assert_eq!(waiting, "0", "it does not wait any more");
}

#[test]
fn an_idle_deposed_process_notices() {
    let server = server();
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    let (told, lost) = std::sync::mpsc::channel();
    rig.database
        .on_loss(move |failure: &StoreFailure| told.send(failure.code).expect("the test listens"));
    server
        .query("update bank_a.lease set fence = fence + 1")
        .expect("changed");
    assert_eq!(lost.recv_timeout(DEADLINE), Ok("database.deposed"));
}

#[test]
fn a_server_restored_from_an_older_backup_is_refused() {
    let (server, seed) = (server(), 10);
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    rig.commit(seed, 1, 40);
    drop(rig);
    server
        .query("delete from bank_a.commits where number > 3; update bank_a.lease set head = 3")
        .expect("changed");
    let refused = Rig::open(&settings, folder.path()).map(drop);
    assert_eq!(refused.expect_err("older").code(), "database.restored");
}

#[test]
fn a_schema_of_another_node_and_a_cache_of_another_schema_are_refused() {
    let server = server();
    let mut settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    rig.commit(1, 1, 5);
    drop(rig);
    settings.node = "b2".into();
    let refused = Rig::open(&settings, folder.path()).map(drop);
    assert_eq!(
        refused.expect_err("another node").code(),
        "database.foreign_schema"
    );
    settings.schema = "bank_b".into();
    let refused = Rig::open(&settings, folder.path()).map(drop);
    let refused = refused.expect_err("another schema");
    assert_eq!(refused.code(), "database.foreign_cache");
}

#[test]
fn a_cache_with_commits_that_the_server_lost_is_made_anew() {
    let (server, seed, other) = (server(), 13, 14);
    let settings = settings(&server);
    let folders = [0, 1, 2].map(|_| tempfile::tempdir().expect("a folder"));
    let first = Rig::open(&settings, folders[0].path()).expect("opens");
    first.commit(seed, 1, 40);
    drop(first);
    let head: u64 = server
        .query("select head from bank_a.lease")
        .expect("readable")
        .parse()
        .expect("a number");
    let kept = head / 2;
    // The backup of an earlier moment.
    let restore = format!(
        "delete from bank_a.commits where number > {kept}; update bank_a.lease set head = {kept};
         delete from bank_a.rows; update bank_a.folded set number = 0"
    );
    server.query(&restore).expect("restored");
    let second = Rig::open(&settings, folders[1].path()).expect("goes on");
    second.commit(other, 1, 60);
    drop(second);
    let third = Rig::open(&settings, folders[2].path()).expect("opens");
    let truth = content(&third);
    drop(third);
    // Its number is below the head again, but its last commits are not the server's.
    let first = Rig::open(&settings, folders[0].path()).expect("opens");
    assert!(content(&first) == truth, "the lost commits are gone");
}

fn content(rig: &Rig) -> Vec<(u8, Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    pgstore::for_each_row(&rig.cache, &mut |table, (key, value)| {
        rows.push((table.number(), key, value));
        Ok::<(), DatabaseError>(())
    })
    .expect("readable");
    rows
}

#[test]
fn a_process_on_standby_follows_and_takes_over() {
    let (server, seed) = (server(), 15);
    let settings = settings(&server);
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let first = Rig::open(&settings, folders[0].path()).expect("opens");
    first.commit(seed, 1, 30);
    let mut waits = settings.clone();
    waits.standby = true;
    std::thread::scope(|scope| {
        let second = scope.spawn(|| Rig::open(&waits, folders[1].path()));
        for part in 0..10 {
            first.commit(seed, 31 + part * 20, 50 + part * 20);
        }
        // Longer than a process waits that is not on standby.
        let since = std::time::Instant::now();
        wait_for("the end of such a wait", || {
            assert!(!second.is_finished(), "the first one runs");
            since.elapsed() > settings.lease + std::time::Duration::from_secs(2)
        });
        first.commit(seed, 231, 240);
        drop(first);
        let second = second.join().expect("no panic").expect("takes over");
        assert_equals(&second.cache, &model(seed, 240), "taken over");
        second.commit(seed, 241, 250);
    });
}

#[test]
fn a_process_on_standby_outlives_its_server() {
    let (mut server, seed) = (server(), 16);
    let mut settings = settings(&server);
    // A loaded machine may take seconds to restart the server.
    settings.lease = DEADLINE / 2;
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let first = Rig::open(&settings, folders[0].path()).expect("opens");
    first.commit(seed, 1, 30);
    let mut waits = settings.clone();
    waits.standby = true;
    std::thread::scope(|scope| {
        let second = scope.spawn(|| Rig::open(&waits, folders[1].path()));
        for _ in 0..2 {
            server.crash().expect("signalled");
            server.run().expect("runs again");
        }
        first.commit(seed, 31, 60);
        drop(first);
        let second = second.join().expect("no panic").expect("takes over");
        assert_equals(&second.cache, &model(seed, 60), "taken over");
    });
}
