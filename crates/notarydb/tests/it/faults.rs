//! Faults of the databases, and settings that a worker refuses.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ledger::{LegalName, Party};
use notary::{UniquenessOutcome, UniquenessRecord};
use notarydb::Settings;
use primitives::{Coded, hex};

use crate::backends::{Backend, StopOnDrop, check, entry, service_key, state, tx};

/// Longest wait for a database.
const DEADLINE: Duration = Duration::from_secs(60);
/// How long a row stays locked.
const LOCKED: Duration = Duration::from_secs(16);
/// The first transaction of the load.
const FIRST: u64 = 10_000_000;

/// Enters batches until `stop`, and returns the numbers of the batches that were answered.
fn load(
    mut worker: impl UniquenessRecord,
    place: u64,
    stop: &AtomicBool,
    answered: &AtomicU64,
) -> Vec<u64> {
    let mut done = Vec::new();
    let mut batch = 0;
    while !stop.load(Ordering::Relaxed) {
        let number = FIRST + place * 1_000_000 + batch * 10;
        let entries: Vec<_> = (number..number + 5)
            .map(|number| entry(number, &[number], &[]))
            .collect();
        // Without an answer the requesters ask again, and the batch is the same.
        match worker.settle(&check(entries, &[])) {
            Ok(UniquenessOutcome::Found(_)) => {
                done.push(number);
                batch += 1;
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Ok(UniquenessOutcome::Unavailable) => {}
            Err(failure) => panic!("{failure:?}"),
        }
    }
    done
}

/// Waits until more batches are answered.
fn goes_on(answered: &AtomicU64) {
    let (before, end) = (answered.load(Ordering::Relaxed), Instant::now() + DEADLINE);
    while answered.load(Ordering::Relaxed) < before + 10 {
        assert!(Instant::now() < end, "no batch is answered");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs two workers under `disturb`. Then every answered batch is in the record.
fn under_load(backend: &mut Backend, disturb: impl FnOnce(&mut Backend, &AtomicU64)) {
    let (stop, answered) = (&AtomicBool::new(false), &AtomicU64::new(0));
    let settings = |place| Settings {
        give_up: Duration::from_secs(3),
        ..backend.settings(place)
    };
    let workers = [0, 1].map(|place| notarydb::open(&settings(place)).expect("the database is up"));
    let done: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(workers)
            .map(|(place, worker)| scope.spawn(move || load(worker, place, stop, answered)))
            .collect();
        let stop = StopOnDrop(stop);
        goes_on(answered);
        disturb(backend, answered);
        goes_on(answered);
        drop(stop);
        let joined = threads.into_iter().map(|one| one.join().expect("no panic"));
        joined.flatten().collect()
    });
    let mut record = backend.shared(0);
    for part in done.chunks(500) {
        let numbers = part.iter().flat_map(|first| *first..*first + 5);
        let ids: Vec<_> = numbers.map(tx).collect();
        let found = record.look_up(&ids, &[]).expect("the database is up");
        assert_eq!(found.accepted.len(), ids.len(), "an answered batch is lost");
    }
}

/// Settings that are refused, with their codes.
fn refused(backend: &Backend) {
    let good = || backend.settings(0);
    let other = LegalName::new("Another Notary", "Zurich", "CH").expect("a name");
    let wrong = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(wrong.path(), "wrong").expect("it is ours");
    let missing_port = |url: String| {
        let (front, _) = url.rsplit_once('@').expect("a URL");
        let (_, database) = url.rsplit_once('/').expect("a URL");
        format!("{front}@127.0.0.1:1/{database}")
    };
    let patient = Duration::from_millis(300);
    for (settings, codes) in [
        (
            Settings {
                service: Party::new(other, service_key().public().clone()),
                ..good()
            },
            ["record.foreign", "record.foreign"],
        ),
        (
            Settings {
                password_file: Some(wrong.path().to_path_buf()),
                ..good()
            },
            ["record.log_in", "database.log_in"],
        ),
        (
            Settings {
                password_file: Some("/nowhere".into()),
                ..good()
            },
            ["record.settings", "database.settings"],
        ),
        (
            Settings {
                url: missing_port(good().url),
                give_up: patient,
                ..good()
            },
            ["record.unreachable", "database.unreachable"],
        ),
        (
            Settings {
                url: "sqlite://x".into(),
                ..good()
            },
            ["record.settings", "record.settings"],
        ),
    ] {
        let error = notarydb::open(&settings).map(drop).expect_err(codes[0]);
        assert!(codes.contains(&error.code()), "{} {error}", error.code());
        assert!(!error.hint().is_empty());
    }
}

/// A statement that stands still on one server with a row keeps no batch with that row away from the others.
fn locked_row(backend: &Backend) {
    let Backend::Galera(cluster, _) = backend else {
        panic!("a cluster");
    };
    let number = FIRST - 1;
    let settings = Settings {
        give_up: LOCKED / 2,
        ..backend.settings(0)
    };
    let mut worker = notarydb::open(&settings).expect("the database is up");
    let before = worker.meter().figures();
    std::thread::scope(|scope| {
        let hold = format!(
            "begin; insert into notary_rows values (0, x'{}', {}, null, null, null, null); select sleep({}); rollback",
            hex::encode(state(number).tx.as_bytes()),
            state(number).index,
            LOCKED.as_secs(),
        );
        // The cluster ends this statement in favour of the batch.
        scope.spawn(move || drop(cluster.query(0, &hold)));
        let end = Instant::now() + DEADLINE;
        let held = "select count(*) from information_schema.innodb_trx where trx_rows_modified > 0";
        while cluster.query(0, held).expect("it answers").trim() == "0" {
            assert!(Instant::now() < end, "the row is not held");
            // The server keeps an answer from this table for as long as it is asked more often than every 100 ms.
            std::thread::sleep(Duration::from_millis(200));
        }
        let settled = worker.settle(&check(vec![entry(number, &[number], &[])], &[]));
        assert!(
            matches!(settled, Ok(UniquenessOutcome::Found(ref found)) if found.accepted.is_empty()),
            "{settled:?}"
        );
    });
    let after = worker.meter().figures();
    assert_ne!(after.server, before.server, "it went to another server");
}

pub fn of_cluster(backend: &mut Backend) {
    refused(backend);
    locked_row(backend);
    under_load(backend, |backend, answered| {
        let Backend::Galera(cluster, _) = backend else {
            panic!("a cluster");
        };
        for server in 0..2 {
            cluster.crash(server).expect("signalled");
            goes_on(answered);
            cluster.run(server).expect("it joins again");
            goes_on(answered);
        }
        cluster.suspend(2, true).expect("signalled");
        goes_on(answered);
        cluster.suspend(2, false).expect("signalled");
        cluster.restart_all(|| {}).expect("it begins anew");
    });
    backend.administer("set global innodb_flush_log_at_trx_commit = 2");
    let error = notarydb::open(&backend.settings(0)).map(drop);
    assert_eq!(error.expect_err("not durable").code(), "record.not_durable");
    backend.administer("set global innodb_flush_log_at_trx_commit = 1");
}

pub fn of_server(backend: &mut Backend) {
    refused(backend);
    under_load(backend, |backend, answered| {
        let Backend::Postgres(server, _) = backend else {
            panic!("a server");
        };
        for _ in 0..3 {
            server.crash().expect("signalled");
            server.run().expect("it runs again");
            goes_on(answered);
            let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'tally'";
            server.administer(end).expect("an administrator may");
            goes_on(answered);
        }
    });
}
