//! A server, and nodes' stores behind it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use pgserver::{PgServer, ServerOptions};
use pgstore::{Database, DatabaseError, Settings};
use primitives::storage::StoreFailure;
use store::{Class, CommitHandle, Committer, CommitterOptions, Embedded, Options};

use crate::workload::{Table, batch};

/// The longest wait for an event.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub fn server() -> PgServer {
    PgServer::start(&ServerOptions::default()).expect("PostgreSQL starts")
}

pub fn settings(server: &PgServer) -> Settings {
    Settings {
        url: server.url(),
        password_file: None,
        ca: None,
        schema: "bank_a".into(),
        node: "a1".into(),
        holder: "a test".into(),
        standby: false,
        lease: Duration::from_secs(2),
        give_up: DEADLINE,
    }
}

/// Budgets so small that segments rotate and tables are flushed all the time.
fn tiny() -> Options {
    Options {
        cache_bytes: 256 << 10,
        memtable_bytes: 24 << 10,
        log_bytes: 32 << 10,
        open_files: 32,
        ..Options::default()
    }
}

/// A node's store behind a server.
pub struct Rig {
    // Dropped in this order.
    committer: Option<Committer<Table>>,
    pub database: Database,
    pub cache: Embedded<Table>,
}

impl Rig {
    pub fn open(settings: &Settings, folder: &Path) -> Result<Self, DatabaseError> {
        let opened = pgstore::open(settings, &cache_path(folder), &tiny(), Table::Meta)?;
        let options = CommitterOptions {
            // Small groups make many commits.
            group_bytes_max: 4 << 10,
            raise_priority: false,
            ..CommitterOptions::default()
        };
        let committer = Committer::start_behind(opened.cache.clone(), options, opened.behind);
        Ok(Self {
            committer: Some(committer.expect("threads")),
            database: opened.database,
            cache: opened.cache,
        })
    }

    pub fn handle(&self) -> CommitHandle<Table> {
        self.committer.as_ref().expect("running").handle()
    }

    /// Submits the batches `from..=to` of a workload. The answers come in order.
    pub fn submit(
        &self,
        seed: u64,
        from: u64,
        to: u64,
    ) -> Receiver<(u64, Result<(), StoreFailure>)> {
        let (sender, answers) = channel();
        let handle = self.handle();
        std::thread::spawn(move || {
            for number in from..=to {
                let sender = sender.clone();
                handle.submit(
                    number,
                    Class::Normal,
                    batch(seed, number),
                    move |number, outcome| {
                        // The test may have seen enough.
                        let _ = sender.send((number, outcome));
                    },
                );
            }
        });
        answers
    }

    /// Commits the batches, and returns when all of them are confirmed.
    pub fn commit(&self, seed: u64, from: u64, to: u64) {
        let answers = self.submit(seed, from, to);
        for expected in from..=to {
            let (number, outcome) = answers.recv_timeout(DEADLINE).expect("an answer");
            outcome.expect("confirmed");
            assert_eq!(number, expected, "in order");
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.database.stop();
        drop(self.committer.take());
    }
}

/// Opens the schema although another process holds and renews its lease: as if that one had been stopped for longer than its lease.
pub fn take_over(server: &PgServer, settings: &Settings, folder: &Path) -> Rig {
    let deadline = Instant::now() + DEADLINE;
    loop {
        server
            .query("update bank_a.lease set expires = now() - interval '1 hour'")
            .expect("changed");
        match Rig::open(settings, folder) {
            Ok(rig) => return rig,
            // The holder renewed its lease in between.
            Err(DatabaseError::Held { .. }) => assert!(Instant::now() < deadline, "takes over"),
            Err(error) => panic!("takes over: {error}"),
        }
    }
}

pub fn cache_path(folder: &Path) -> PathBuf {
    folder.join("cache")
}

/// Waits until the condition holds.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "waits for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
