//! The server crashes, ends connections, or is away, while commits are in flight.

use std::time::{Duration, Instant};

use primitives::storage::StoreFailure;

use crate::rig::{DEADLINE, Rig, server, settings, wait_for};
use crate::workload::{assert_equals, count, model};

#[test]
fn no_commit_is_lost_or_repeated_when_the_server_crashes() {
    let (mut server, seed) = (server(), 5);
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    let answers = rig.submit(seed, 1, 6_000);
    let mut confirmed = 0;
    for crash_at in [500, 1_500, 3_000, 4_500] {
        while confirmed < crash_at {
            let (number, outcome) = answers.recv_timeout(DEADLINE).expect("an answer");
            outcome.expect("confirmed");
            confirmed += 1;
            assert_eq!(number, confirmed);
        }
        server.crash().expect("signalled");
        server.run().expect("runs again");
        // Read first: the node goes on as soon as the server runs.
        let told = rig.database.figures().confirmed;
        let on_server = server.query("select head from bank_a.lease");
        let on_server: u64 = on_server.expect("readable").parse().expect("a number");
        assert!(
            on_server >= told,
            "{on_server} < {told}: a confirmed commit is lost"
        );
    }
    for (number, outcome) in answers.iter() {
        outcome.expect("confirmed");
        confirmed += 1;
        assert_eq!(number, confirmed);
    }
    assert_eq!(confirmed, 6_000);
    let figures = rig.database.figures();
    assert!(figures.reconnections >= 1, "{figures:?}");
    drop(rig);
    assert_numbers_without_gaps(&server);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, elsewhere.path()).expect("opens");
    assert_equals(&rig.cache, &model(seed, 6_000), "on the server");
}

#[test]
fn connections_that_the_server_ends_are_replaced() {
    let (server, seed) = (server(), 6);
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    let answers = rig.submit(seed, 1, 3_000);
    let mut confirmed = 0;
    for _ in 0..6 {
        for (_, outcome) in answers.iter().take(300) {
            outcome.expect("confirmed");
            confirmed += 1;
        }
        server
            .administer(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'tally'",
            )
            .expect("ended");
    }
    confirmed += answers
        .iter()
        .map(|(_, outcome)| outcome.expect("confirmed"))
        .count();
    assert_eq!(confirmed, 3_000);
    assert_equals(&rig.cache, &model(seed, 3_000), "after lost connections");
    drop(rig);
    assert_numbers_without_gaps(&server);
}

#[test]
fn statements_of_a_lost_connection_that_finish_late_do_no_harm() {
    let (server, seed) = (server(), 7);
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    rig.commit(seed, 1, 10);
    // While the row is locked, the commit waits on the server. The connection ends for the node only: the node's answers are late.
    let locker = std::thread::spawn({
        let url = server.url();
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
                    .await
                    .expect("connected");
                tokio::spawn(connection);
                let held =
                    "begin; select * from bank_a.lease for update; select pg_sleep(12); commit";
                client.batch_execute(held).await.expect("held");
            });
        }
    });
    wait_for("the lock", || {
        let waits = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
        server.administer(waits).expect("readable") == "1"
    });
    rig.commit(seed, 11, 40);
    locker.join().expect("ended");
    assert!(rig.database.figures().read_back >= 1, "an answer was late");
    assert_equals(&rig.cache, &model(seed, 40), "after a lock");
    drop(rig);
    assert_numbers_without_gaps(&server);
}

#[test]
fn failures_of_an_idle_node_do_not_add_up() {
    let server = server();
    let mut settings = settings(&server);
    (settings.lease, settings.give_up) = (Duration::from_millis(300), Duration::from_secs(5));
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (administrator, connection) =
            tokio_postgres::connect(&server.url(), tokio_postgres::NoTls)
                .await
                .expect("connected");
        tokio::spawn(connection);
        // Each absence is much shorter than the limit, all of them together are longer. Most connections end before the first renewal of
        // the lease on them.
        let began = Instant::now();
        while began.elapsed() < settings.give_up + Duration::from_secs(2) {
            let before = rig.database.figures().reconnections;
            administrator
                .batch_execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tally'",
                )
                .await
                .expect("ended");
            let deadline = Instant::now() + DEADLINE;
            while rig.database.figures().reconnections == before {
                assert!(Instant::now() < deadline, "waits for a new connection");
                tokio::task::yield_now().await;
            }
        }
    });
    rig.commit(1, 1, 10);
}

#[test]
fn a_server_that_stays_away_fails_commits_with_a_code() {
    let (mut server, seed) = (server(), 8);
    let mut settings = settings(&server);
    settings.give_up = Duration::from_secs(1);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    rig.commit(seed, 1, 10);
    server.stop().expect("signalled");
    let (told, lost) = std::sync::mpsc::channel();
    rig.database
        .on_loss(move |failure: &StoreFailure| told.send(failure.code).expect("the test listens"));
    let answers = rig.submit(seed, 11, 12);
    for _ in 11..=12 {
        let (_, outcome) = answers.recv_timeout(DEADLINE).expect("an answer");
        assert_eq!(outcome.expect_err("away").code, "database.unreachable");
    }
    assert_eq!(lost.recv_timeout(DEADLINE), Ok("database.unreachable"));
    assert_eq!(count(&rig.cache), 10);
    drop(rig);
    server.run().expect("runs again");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    rig.commit(seed, count(&rig.cache) + 1, 20);
    assert_equals(&rig.cache, &model(seed, 20), "gone on");
}

fn assert_numbers_without_gaps(server: &pgserver::PgServer) {
    let gaps = "select count(*) from (select number, lead(number) over (order by number) as next from bank_a.commits) as pairs
                where next <> number + 1";
    assert_eq!(server.query(gaps).expect("readable"), "0");
    let head = "select (select max(number) from bank_a.commits) = head from bank_a.lease";
    assert_eq!(server.query(head).expect("readable"), "t");
}
