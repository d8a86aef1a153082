//! Bugs planted in each backend. The checker of histories, which knows nothing of the record, has to report them.
//!
//! | bug | store | MariaDB Galera | PostgreSQL |
//! |---|---|---|---|
//! | no certification check | the worker ignores the consumers that it finds | the table of rows has no unique key, so the cluster has nothing to certify | the table of states has no unique key |
//! | answer before the commit | the worker writes rows later than it answers, and is killed between | servers write their logs once a minute, and all are killed | a trigger lets the server confirm commits before it has written its log, and it crashes |
//!
//! The same clients and the same crashes without a bug make a clean history.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, RwLock, mpsc};
use std::time::{Duration, Instant};

use historycheck::{ConflictingState, Digest, EventKind, HistoryWriter, Verdict, ViolationKind};
use ledger::consuming_hash;
use notary::{Entry, UniquenessAnswer, UniquenessCheck, UniquenessOutcome, UniquenessRecord};
use notarydb::Settings;
use primitives::storage::StoreFailure;

use crate::backends::{Backend, OwnStore, StopOnDrop, check, entry};

/// Clients that compete for the same states. Each has a worker of its own.
const CLIENTS: u64 = 4;
/// Longest wait for an answer.
const DEADLINE: Duration = Duration::from_secs(60);
/// Time limit for answers in the history. These tests are not about the speed of a loaded machine.
const ANSWERS_WITHIN_MS: u64 = 60_000;
/// Signatures before each crash, and after the last one.
const SIGNATURES: usize = 25;
/// The first transaction and the first state of a run. Runs on the same database use different ones.
const FIRST: u64 = 1_000_000_000;
/// Distance to the transactions that compete with signed ones in the end phase.
const RIVALS: u64 = 50_000_000;
/// Distance to the transactions right before a crash.
const LAST: u64 = 20_000_000;

/// The clients' view of the service.
struct Service {
    history: HistoryWriter<Vec<u8>>,
    requests: AtomicU64,
    stop: AtomicBool,
    /// The first state that is in no request yet.
    front: AtomicU64,
    /// A client holds it for reading while it asks. Whoever holds it for writing knows that no request is on its way.
    asking: RwLock<()>,
}

impl Service {
    fn write(&self, event: EventKind) {
        self.history.write(event).expect("memory");
    }

    /// Asks until the service answers. Returns whether the transaction is signed, or `None` without an answer.
    fn ask(&self, client: u64, worker: &mut dyn UniquenessRecord, entry: &Entry) -> Option<bool> {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let state = |state: &ledger::StateRef| historycheck::StateRef {
            transaction: Digest::from(*state.tx.as_bytes()),
            index: state.index,
        };
        self.write(EventKind::Ask {
            client,
            request,
            transaction: Digest::from(*entry.id.as_bytes()),
            consumed_as: Digest::from(*consuming_hash(&entry.id).as_bytes()),
            consumes: entry.inputs.iter().map(state).collect(),
            reads: entry.references.iter().map(state).collect(),
        });
        let until = Instant::now() + DEADLINE;
        let answer = loop {
            match worker.settle(&check(vec![entry.clone()], &[])) {
                Ok(UniquenessOutcome::Found(answer)) => break answer,
                Ok(UniquenessOutcome::Unavailable) if Instant::now() < until => {}
                Ok(UniquenessOutcome::Unavailable) => {
                    self.write(EventKind::Unanswered { client, request });
                    return None;
                }
                Err(failure) => panic!("{failure:?}"),
            }
        };
        // As the notary decides.
        let is_signed = answer.accepted.contains(&entry.id) || entry.is_free(&answer);
        let conflict = |input: &ledger::StateRef| {
            let consumer = answer.consumers.get(input)?;
            Some(ConflictingState {
                state: state(input),
                consumed_by: Digest::from(*consuming_hash(consumer).as_bytes()),
                is_reference: false,
            })
        };
        self.write(match is_signed {
            true => EventKind::Signed { client, request },
            false => EventKind::Conflict {
                client,
                request,
                states: entry.inputs.iter().filter_map(conflict).collect(),
            },
        });
        Some(is_signed)
    }

    /// Asks for transactions that compete with those of the other clients, until `stop`. Returns the signed ones.
    fn compete(
        &self,
        client: u64,
        worker: &mut dyn UniquenessRecord,
        signatures: &Sender<()>,
    ) -> Vec<Entry> {
        let mut signed = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let _asking = self.asking.read().expect("no client panics");
            let front = self.front.load(Ordering::Relaxed);
            // Each pair of clients has one state or two in common.
            let entry = entry(
                front * CLIENTS + client,
                &[front, front + 1 + client % 2],
                &[],
            );
            if self.ask(client, worker, &entry) == Some(true) {
                signed.push(entry);
                // The receiver lives as long as the test.
                let _ = signatures.send(());
            }
            self.front.fetch_max(front + 1, Ordering::Relaxed);
        }
        signed
    }

    /// Crashes the database right after a signature, while no other request is on its way. A server writes the end of its log on several
    /// occasions, such as the next commit, whatever its settings are. Returns the last transaction.
    fn crash_after_signature(
        &self,
        worker: &mut dyn UniquenessRecord,
        crash: impl FnOnce(),
    ) -> Entry {
        let _nobody = self.asking.write().expect("no client panics");
        let state = self.front.load(Ordering::Relaxed) + LAST;
        let last = entry(state * CLIENTS, &[state], &[]);
        assert_eq!(self.ask(CLIENTS, worker, &last), Some(true));
        crash();
        last
    }

    /// Asks again for signed transactions. Before each, another one asks for its states, so that a lost transaction is not entered
    /// again unnoticed.
    fn ask_again(&self, worker: &mut dyn UniquenessRecord, signed: &[Entry]) {
        self.write(EventKind::EndPhase);
        for (number, entry_before) in (0..).zip(signed) {
            let rival = Entry {
                inputs: entry_before.inputs.clone(),
                ..entry(
                    self.front.load(Ordering::Relaxed) * CLIENTS + RIVALS + number,
                    &[],
                    &[],
                )
            };
            self.ask(0, worker, &rival);
            self.ask(0, worker, entry_before);
        }
    }
}

/// Waits for signatures.
fn goes_on(signatures: &Receiver<()>) {
    // Those of the past do not count.
    while signatures.try_recv().is_ok() {}
    for _ in 0..SIGNATURES {
        match signatures.recv_timeout(DEADLINE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => panic!("nothing is signed"),
            Err(RecvTimeoutError::Disconnected) => panic!("no client is left"),
        }
    }
}

/// Crashes the database, and returns a transaction that it had signed before.
type Crash<'a> = &'a mut dyn FnMut(&Service) -> Option<Entry>;

/// Runs clients with one worker each, and checks their history. `crash` is called once, if it is given.
fn run(run: u64, mut workers: Vec<Box<dyn UniquenessRecord>>, crash: Option<Crash<'_>>) -> Verdict {
    let first = FIRST * (run + 1);
    let service = Service {
        history: HistoryWriter::begin(Vec::new(), run, ANSWERS_WITHIN_MS).expect("memory"),
        requests: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        front: AtomicU64::new(first),
        asking: RwLock::default(),
    };
    let (sender, signatures) = mpsc::channel();
    let mut signed = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CLIENTS)
            .zip(&mut workers)
            .map(|(client, worker)| {
                let (service, sender) = (&service, sender.clone());
                scope.spawn(move || service.compete(client, &mut **worker, &sender))
            })
            .collect();
        let stop = StopOnDrop(&service.stop);
        if let Some(crash) = crash {
            goes_on(&signatures);
            service.write(EventKind::MajorityLost);
            service.write(EventKind::MajorityReturning);
            signed.extend(crash(&service));
            service.write(EventKind::MajorityBack);
        }
        goes_on(&signatures);
        drop(stop);
        for thread in threads {
            signed.extend(thread.join().expect("no panic"));
        }
    });
    service.ask_again(&mut *workers[0], &signed);
    let history = service.history.end().expect("memory");
    let mut verdict = historycheck::check(&*history).expect("a complete history");
    verdict.violations.sort_by_key(|one| one.kind);
    verdict.violations.dedup_by_key(|one| one.kind);
    verdict
}

fn is_clean(verdict: &Verdict) {
    assert!(verdict.is_clean(), "{verdict:#?}");
}

fn reports(verdict: &Verdict, kind: ViolationKind) {
    assert!(verdict.has(kind), "{kind:?} is not reported: {verdict:#?}");
}

/// Workers on a database.
fn workers(backend: &Backend) -> Vec<Box<dyn UniquenessRecord>> {
    let open = |place| {
        let settings = Settings {
            give_up: Duration::from_secs(3),
            ..backend.settings(place)
        };
        let worker = notarydb::open(&settings).expect("the database is up");
        Box::new(worker) as Box<dyn UniquenessRecord>
    };
    (0..CLIENTS as usize).map(open).collect()
}

/// A bug of a worker with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    NoCertification,
    EarlyAnswer,
}

/// Transactions that workers with the bug `EarlyAnswer` keep in memory.
const UNWRITTEN_MAX: usize = 20;

/// A worker with a bug, on a store that it shares with others.
struct BuggyWorker {
    bug: Bug,
    own: Arc<Mutex<OwnStore>>,
    /// Transactions that were answered and are not written.
    unwritten: Arc<Mutex<Vec<Entry>>>,
}

impl UniquenessRecord for BuggyWorker {
    fn settle(&mut self, check: &UniquenessCheck) -> Result<UniquenessOutcome, StoreFailure> {
        let own = self.own.lock().expect("no worker panics");
        let mut unwritten = self.unwritten.lock().expect("no worker panics");
        let mut answer = own.look_up(check)?;
        add_unwritten(&mut answer, &unwritten);
        if self.bug == Bug::NoCertification {
            answer.consumers.clear();
        }
        let free = check.entries.iter().filter(|entry| entry.is_free(&answer));
        unwritten.extend(free.cloned());
        let kept = match self.bug {
            Bug::EarlyAnswer => UNWRITTEN_MAX,
            _ => 0,
        };
        let written = unwritten.len().saturating_sub(kept);
        own.enter(&unwritten[..written])?;
        unwritten.drain(..written);
        Ok(UniquenessOutcome::Found(answer))
    }
}

fn add_unwritten(answer: &mut UniquenessAnswer, unwritten: &[Entry]) {
    for entry in unwritten {
        answer.accepted.insert(entry.id);
        let consumers = entry.inputs.iter().map(|input| (*input, entry.id));
        answer.consumers.extend(consumers);
    }
}

pub fn of_store() {
    for (number, bug) in (0..).zip([Bug::None, Bug::EarlyAnswer, Bug::NoCertification]) {
        let own = Arc::new(Mutex::new(OwnStore::new()));
        let unwritten = Arc::new(Mutex::new(Vec::new()));
        let worker = |_| {
            let (own, unwritten) = (Arc::clone(&own), Arc::clone(&unwritten));
            Box::new(BuggyWorker {
                bug,
                own,
                unwritten,
            }) as Box<dyn UniquenessRecord>
        };
        let workers = (0..CLIENTS).map(worker).collect();
        let mut kill = |_: &Service| {
            let mut unwritten = unwritten.lock().expect("no worker panics");
            unwritten.clear();
            None
        };
        let verdict = run(number, workers, Some(&mut kill));
        match bug {
            Bug::None => is_clean(&verdict),
            Bug::EarlyAnswer => reports(&verdict, ViolationKind::SignatureLost),
            Bug::NoCertification => reports(&verdict, ViolationKind::DoubleSpend),
        }
    }
}

/// Ends all servers of a cluster at the same moment, and starts them again.
fn cut_power(backend: &mut Backend) {
    let Backend::Galera(cluster, _) = backend else {
        panic!("a cluster");
    };
    // A server that sees the others go might write its log before it ends.
    for server in 0..cluster.servers() {
        cluster.suspend(server, true).expect("signalled");
    }
    cluster.restart_all(|| {}).expect("it begins anew");
}

/// Runs without a bug, with early answers, and without certification. The last change of the tables is not taken back.
pub fn of_cluster(backend: &mut Backend) {
    let clean = workers(backend);
    let mut cut = |_: &Service| {
        cut_power(backend);
        None
    };
    is_clean(&run(0, clean, Some(&mut cut)));
    // Workers look at this setting when they connect.
    let late = workers(backend);
    let mut last = notarydb::open(&backend.settings(0)).expect("the database is up");
    backend.administer("set global innodb_flush_log_at_timeout = 60; set global innodb_flush_log_at_trx_commit = 0");
    let mut cut =
        |service: &Service| Some(service.crash_after_signature(&mut last, || cut_power(backend)));
    let verdict = run(1, late, Some(&mut cut));
    reports(&verdict, ViolationKind::SignatureLost);
    let Backend::Galera(cluster, _) = &*backend else {
        panic!("a cluster");
    };
    let keyless = "alter table notary_rows drop primary key, add index (kind, tx, output)";
    cluster.query(0, keyless).expect("an administrator may");
    let verdict = run(2, workers(backend), None);
    reports(&verdict, ViolationKind::DoubleSpend);
}

/// Crashes a server, and starts it again.
fn crash(backend: &mut Backend) {
    let Backend::Postgres(server, _) = backend else {
        panic!("a server");
    };
    server.crash().expect("signalled");
    // The settings that a bug has changed are in this file.
    std::fs::write(server.data().join("postgresql.auto.conf"), "").expect("the file is ours");
    server.run().expect("it runs again");
}

/// Lets a server confirm commits before it has written its log, until [`confirm_in_time`].
fn confirm_early(backend: &Backend) {
    for statement in [
        // A worker sets `synchronous_commit` when it connects. A trigger changes it within each of its transactions.
        "create function tally_notary.confirm_early() returns trigger language plpgsql as \
         $$ begin perform set_config('synchronous_commit', 'off', true); return null; end $$",
        "create trigger confirm_early before insert on tally_notary.notary_transactions \
         for each statement execute function tally_notary.confirm_early()",
        "alter system set wal_writer_delay = '10s'",
        "select pg_reload_conf()",
    ] {
        backend.administer(statement);
    }
}

/// Takes the trigger of [`confirm_early`] back.
fn confirm_in_time(backend: &Backend) {
    backend.administer("drop function tally_notary.confirm_early() cascade");
}

/// Runs as [`of_cluster`].
pub fn of_server(backend: &mut Backend) {
    let clean = workers(backend);
    let mut end = |_: &Service| {
        crash(backend);
        None
    };
    is_clean(&run(0, clean, Some(&mut end)));
    let late = workers(backend);
    let mut last = notarydb::open(&backend.settings(0)).expect("the database is up");
    confirm_early(backend);
    let mut end =
        |service: &Service| Some(service.crash_after_signature(&mut last, || crash(backend)));
    let verdict = run(1, late, Some(&mut end));
    reports(&verdict, ViolationKind::SignatureLost);
    confirm_in_time(backend);
    backend.administer(
        "alter table tally_notary.notary_states drop constraint notary_states_pkey; \
         create index on tally_notary.notary_states (tx, output)",
    );
    let verdict = run(2, workers(backend), None);
    reports(&verdict, ViolationKind::DoubleSpend);
}
