//! A replicated notary under random faults, as real processes: two workers on a Galera cluster of three servers, or on one PostgreSQL server.
//! Clients speak to the workers themselves, and try to spend states twice throughout. Each writes down what it asked and what it was told. An
//! independent checker (`historycheck`) judges the history alone, without a look at the servers.
//!
//! `make test` has each fault once. `make torture` goes on for minutes (`TALLY_TORTURE_SECONDS`). `TALLY_SEED` repeats the order of faults and
//! the choices of the clients. The history of a run that fails is kept.

mod fault;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use historycheck::{ConflictingState, Digest, EventKind, HistoryWriter};
use ledger::{NotaryError, NotaryResponse, StateRef, WireTransaction, consuming_hash};
use member::{Identity, Member};
use perf::topology::{Network, NetworkOptions, NotaryBackend, Who};
use primitives::Coded;

use self::fault::Fault;
use crate::stage::command::tally;
use crate::stage::{self, Seeded};

/// Clients, each a member of the network of its own.
const CLIENTS: usize = 4;
/// Requests of a client that are outstanding.
const OUTSTANDING: usize = 4;
/// Pause of a client between two requests, so that the history of a long run stays small.
const PAUSE: Duration = Duration::from_millis(10);
/// Time after which a client gives up.
const GIVE_UP: Duration = Duration::from_secs(10);
/// Time in which a client gets its answers at the end.
const LAST_ANSWER: Duration = Duration::from_secs(60);
/// States that clients know and spend again.
const POOL: usize = 64;
/// Maximum duration of undisturbed load before a fault.
const QUIET_MS_MAX: u64 = 1_500;
/// Longest time without an answer while a majority is alive: that of the promise.
const ANSWERS_WITHIN_MS: u64 = 5_000;
/// The same in `make test`, which shares a machine with anything.
const ANSWERS_WITHIN_MS_SHORT: u64 = 30_000;

/// The history and the state that all clients share.
struct Run {
    history: HistoryWriter<BufWriter<File>>,
    pool: Mutex<VecDeque<StateRef>>,
    stop: AtomicBool,
    answered: AtomicU64,
}

impl Run {
    fn note(&self, event: EventKind) {
        self.history.write(event).expect("the history is written");
    }
}

/// A client: one member, with its own numbers of requests.
struct Client {
    number: u64,
    member: Member,
    run: Arc<Run>,
    requests: AtomicU64,
    /// Transactions that were signed, or whose outcome is unknown, and whether they were signed.
    matter: Mutex<Vec<(WireTransaction, bool)>>,
}

fn digest(bytes: &[u8]) -> Digest {
    <[u8; 32]>::try_from(bytes).expect("a hash").into()
}

fn state(of: &StateRef) -> historycheck::StateRef {
    historycheck::StateRef {
        transaction: digest(of.tx.as_bytes()),
        index: of.index,
    }
}

impl Client {
    /// Asks once, and writes down question and answer. Returns whether the transaction is signed, if it was decided.
    async fn ask(&self, wire: &WireTransaction, patience: Duration) -> Option<bool> {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let (client, run) = (self.number, &self.run);
        run.note(EventKind::Ask {
            client,
            request,
            transaction: digest(wire.id().as_bytes()),
            consumed_as: digest(consuming_hash(&wire.id()).as_bytes()),
            consumes: wire.inputs().iter().map(state).collect(),
            reads: wire.references().iter().map(state).collect(),
        });
        let answer = tokio::time::timeout(patience, self.member.notarise(wire)).await;
        let (event, decided) = match answer {
            Ok(Ok(NotaryResponse::Signed(_))) => {
                (EventKind::Signed { client, request }, Some(true))
            }
            Ok(Ok(NotaryResponse::Refused(NotaryError::Conflict { conflicts }))) => {
                let states = conflicts.iter().map(|conflict| ConflictingState {
                    state: state(&conflict.input),
                    consumed_by: digest(conflict.consumed_by.as_bytes()),
                    is_reference: conflict.is_reference,
                });
                let states = states.collect();
                let event = EventKind::Conflict {
                    client,
                    request,
                    states,
                };
                (event, Some(false))
            }
            Ok(Ok(NotaryResponse::Refused(error))) if !error.is_transient() => {
                let event = EventKind::Refused {
                    client,
                    request,
                    code: error.code().to_owned(),
                    message: error.to_string(),
                };
                (event, Some(false))
            }
            // Busy, or no answer: it may be asked again.
            Ok(Ok(NotaryResponse::Refused(_))) | Err(_) => {
                (EventKind::Unanswered { client, request }, None)
            }
            Ok(Err(error)) => panic!("client {client}: {error}"),
        };
        run.note(event);
        if decided.is_some() {
            run.answered.fetch_add(1, Ordering::Relaxed);
        }
        decided
    }

    /// Makes a transaction: of new states, of states that others spend as well, or one that reads such a state.
    fn transaction(&self, seeded: &mut Seeded) -> WireTransaction {
        let known = |seeded: &mut Seeded| {
            let pool = self.run.pool.lock().expect("no client panicked");
            match pool.len() as u64 {
                0 => None,
                many => pool.get(seeded.between(0, many) as usize).copied(),
            }
        };
        let mut consumes = self
            .member
            .new_states(seeded.between(1, 4) as usize)
            .expect("random bytes");
        let mut reads = Vec::new();
        match seeded.between(0, 10) {
            // Others spend the new states as well.
            0..5 => {
                let mut pool = self.run.pool.lock().expect("no client panicked");
                pool.extend(&consumes);
                let excess = pool.len().saturating_sub(POOL);
                pool.drain(..excess);
            }
            5..9 => consumes.extend(known(seeded)),
            _ => reads.extend(known(seeded)),
        }
        self.member
            .transaction(&consumes, &reads)
            .expect("a transaction")
    }

    /// Asks until the run ends.
    async fn load(self: Arc<Self>, mut seeded: Seeded) {
        let mut before: Option<WireTransaction> = None;
        while !self.run.stop.load(Ordering::Relaxed) {
            let wire = match before.take() {
                // A repeated question gets the same answer.
                Some(wire) if seeded.between(0, 10) == 0 => wire,
                _ => self.transaction(&mut seeded),
            };
            let decided = self.ask(&wire, GIVE_UP).await;
            if decided != Some(false) {
                let matters = (wire.clone(), decided.is_some());
                self.matter
                    .lock()
                    .expect("no client panicked")
                    .push(matters);
            }
            before = Some(wire);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Asks until it is answered.
    async fn insist(&self, wire: &WireTransaction) {
        let deadline = Instant::now() + LAST_ANSWER;
        while self.ask(wire, GIVE_UP).await.is_none() {
            assert!(Instant::now() < deadline, "{} is not decided", wire.id());
        }
    }

    /// Asks again about everything that matters. Before a transaction that was signed, another one asks for its first state: a notary that
    /// has forgotten the first would simply sign it again.
    async fn ask_again(self: Arc<Self>) {
        let mut matter = std::mem::take(&mut *self.matter.lock().expect("no client panicked"));
        // If the same one was also given up, its signature counts.
        matter.sort_by_key(|(wire, is_signed)| (wire.id(), !is_signed));
        matter.dedup_by_key(|(wire, _)| wire.id());
        let left = Arc::new(Mutex::new(matter));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..OUTSTANDING {
            let (client, left) = (Arc::clone(&self), Arc::clone(&left));
            tasks.spawn(async move {
                loop {
                    let next = left.lock().expect("no client panicked").pop();
                    let Some((wire, is_signed)) = next else {
                        return;
                    };
                    if is_signed {
                        let rival = client.member.transaction(&wire.inputs()[..1], &[]);
                        client.insist(&rival.expect("a transaction")).await;
                    }
                    client.insist(&wire).await;
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.expect("it asked again");
        }
    }
}

/// Returns the order of faults: each once, then at random for as long as the environment says.
fn order(backend: NotaryBackend, seeded: &mut Seeded) -> impl Iterator<Item = Fault> + use<> {
    let all = fault::all(backend);
    let mut faults = all.to_vec();
    for at in (1..faults.len()).rev() {
        faults.swap(at, seeded.between(0, at as u64 + 1) as usize);
    }
    let long = torture_seconds().map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut more = seeded.clone();
    let further = std::iter::from_fn(move || {
        let end = long?;
        (Instant::now() < end).then(|| all[more.between(0, all.len() as u64) as usize])
    });
    faults.into_iter().chain(further)
}

fn torture_seconds() -> Option<u64> {
    std::env::var("TALLY_TORTURE_SECONDS").ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_makes_a_notary_on_galera_sign_twice_or_forget() {
    torture(NotaryBackend::Galera).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_makes_a_notary_on_postgresql_sign_twice_or_forget() {
    torture(NotaryBackend::Postgres).await;
}

async fn torture(backend: NotaryBackend) {
    let mut seeded = Seeded::from_environment();
    let options = NetworkOptions {
        notary_workers: 2,
        notary_backend: backend,
        requesters: CLIENTS,
        ..stage::options(&["A"])
    };
    let mut network = Network::bring_up(&options).expect("the network comes up");
    let within_ms = match torture_seconds() {
        Some(_) => ANSWERS_WITHIN_MS,
        None => ANSWERS_WITHIN_MS_SHORT,
    };
    let seed = seeded.number();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("notary-{backend:?}-{seed:016x}.jsonl"));
    println!("the history is {}", path.display());
    let file = BufWriter::new(File::create(&path).expect("created"));
    let run = Arc::new(Run {
        history: HistoryWriter::begin(file, seed, within_ms).expect("written"),
        pool: Mutex::default(),
        stop: AtomicBool::new(false),
        answered: AtomicU64::new(0),
    });
    let clients: Vec<Arc<Client>> = network
        .requesters()
        .iter()
        .enumerate()
        .map(|(number, folder)| {
            let identity = Identity::read(folder).expect("a member's folder");
            Arc::new(Client {
                number: number as u64,
                member: Member::join(identity).expect("it joins"),
                run: Arc::clone(&run),
                requests: AtomicU64::new(0),
                matter: Mutex::default(),
            })
        })
        .collect();
    for client in &clients {
        stage::eventually("the client is connected", || async {
            let (up, all) = client.member.connected();
            (up == all).then_some(())
        })
        .await;
    }
    let mut tasks = tokio::task::JoinSet::new();
    for client in &clients {
        for _ in 0..OUTSTANDING {
            tasks.spawn(Arc::clone(client).load(seeded.fork()));
        }
    }
    for fault in order(backend, &mut seeded) {
        tokio::time::sleep(seeded.moment(QUIET_MS_MAX)).await;
        let began = Instant::now();
        let kind = format!("{fault:?}");
        run.note(EventKind::Fault { kind: kind.clone() });
        let noting = Arc::clone(&run);
        (network, seeded) = tokio::task::spawn_blocking(move || {
            fault::perform(&mut network, fault, &mut seeded, &noting);
            (network, seeded)
        })
        .await
        .expect("it comes back");
        run.note(EventKind::Healed { kind });
        let before = run.answered.load(Ordering::Relaxed);
        stage::eventually("the service answers again", || async {
            (run.answered.load(Ordering::Relaxed) > before).then_some(())
        })
        .await;
        println!("{fault:?}: over after {:.1?}", began.elapsed());
    }
    run.stop.store(true, Ordering::Relaxed);
    while let Some(done) = tasks.join_next().await {
        done.expect("a client asks to the end");
    }
    run.note(EventKind::EndPhase);
    let mut tasks = tokio::task::JoinSet::new();
    for client in clients {
        tasks.spawn(client.ask_again());
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("every client asked again");
    }
    let Ok(run) = Arc::try_unwrap(run) else {
        panic!("no client is left");
    };
    run.history.end().expect("written");

    let history = BufReader::new(File::open(&path).expect("written before"));
    let verdict = historycheck::check(history).expect("a whole history");
    println!(
        "{} requests, {} signed, {} refused for a conflict, {} given up; longest silence {} ms",
        verdict.asked,
        verdict.signed,
        verdict.conflicts,
        verdict.unanswered,
        verdict.longest_silence_ms
    );
    assert!(
        verdict.is_clean(),
        "{}: {:#?}",
        path.display(),
        verdict.violations
    );
    assert!(verdict.conflicts > 0 && verdict.signed_transactions > 100);
    let audit = tally(network.folder(Who::Notary), "notary audit --node % --json");
    assert_eq!(audit.code, 0, "{}", audit.err);
    assert_eq!(audit.json()["inconsistencies"], 0, "{}", audit.json());
    // Only the history of a run that failed is of use.
    let _ = std::fs::remove_file(&path);
}
