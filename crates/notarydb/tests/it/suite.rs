//! The duties of every record.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{StateRef, TxId};
use notary::{Entry, UniquenessAnswer, UniquenessOutcome, UniquenessRecord};
use notarydb::Audit;

use crate::backends::{Backend, check, checker, entry, service, state, tx};

fn settle(
    worker: &mut dyn UniquenessRecord,
    entries: Vec<Entry>,
    look_ups: &[u64],
) -> UniquenessAnswer {
    let outcome = worker.settle(&check(entries, look_ups));
    match outcome.expect("a store that can be read") {
        UniquenessOutcome::Found(answer) => answer,
        UniquenessOutcome::Unavailable => panic!("the database is up"),
    }
}

/// A batch: the entries as (number, inputs, references), the look-ups, and the answer: transactions accepted before, and states consumed before with their consumers.
type Step<'a> = (
    &'a [(u64, &'a [u64], &'a [u64])],
    &'a [u64],
    &'a [u64],
    &'a [(u64, u64)],
);

/// Batches of two workers in turn.
fn batches(backend: &Backend) {
    let steps: &[Step<'_>] = &[
        (&[(1, &[1, 2], &[])], &[], &[], &[]),
        // The same again, at the other worker.
        (&[(1, &[1, 2], &[])], &[], &[1], &[(1, 1), (2, 1)]),
        // One is free and the other is not: the free one is entered.
        (&[(2, &[3], &[]), (3, &[2, 4], &[])], &[], &[], &[(2, 1)]),
        (&[(4, &[4], &[])], &[3], &[], &[]),
        (&[(5, &[3], &[])], &[1, 2, 3], &[1, 2], &[(3, 2)]),
        // A state that is read must not be consumed. One that is only read stays free.
        (&[(6, &[], &[5])], &[], &[], &[]),
        (&[(7, &[6], &[4])], &[], &[], &[(4, 4)]),
        (&[(8, &[5, 6], &[7])], &[], &[], &[]),
        (&[(9, &[], &[5])], &[6], &[6], &[(5, 8)]),
        // Nothing but look-ups.
        (&[], &[8, 9], &[8], &[]),
        // A transaction without states.
        (&[(10, &[], &[])], &[], &[], &[]),
        (&[(10, &[], &[])], &[], &[10], &[]),
    ];
    let mut workers = [backend.worker(0), backend.worker(1)];
    for (at, (entries, look_ups, accepted, consumed)) in steps.iter().enumerate() {
        let entries = entries.iter();
        let entries =
            entries.map(|(number, inputs, references)| entry(*number, inputs, references));
        let answer = settle(&mut *workers[at % 2], entries.collect(), look_ups);
        let wanted: BTreeSet<TxId> = accepted.iter().map(|number| tx(*number)).collect();
        assert_eq!(answer.accepted, wanted, "step {at}");
        let wanted: BTreeMap<StateRef, TxId> = consumed
            .iter()
            .map(|(of, by)| (state(*of), tx(*by)))
            .collect();
        let found = answer.consumers.into_iter();
        // A record may also show states of transactions that were accepted before.
        let found = found.filter(|(of, by)| wanted.contains_key(of) || !accepted_ids(accepted, by));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), wanted, "step {at}");
    }
}

fn accepted_ids(accepted: &[u64], id: &TxId) -> bool {
    accepted.iter().any(|number| tx(*number) == *id)
}

/// A batch of the largest size.
fn large_batch(backend: &Backend) {
    let mut worker = backend.worker(0);
    let entries = |from: u64| -> Vec<Entry> {
        let one = |n: u64| {
            let inputs: Vec<u64> = (0..10).map(|input| 1_000_000 + n * 10 + input).collect();
            entry(1_000_000 + n, &inputs, &[])
        };
        (from..from + 2_000).map(one).collect()
    };
    let answer = settle(&mut *worker, entries(0), &[]);
    assert!(answer.accepted.is_empty() && answer.consumers.is_empty());
    // Half of it again.
    let answer = settle(&mut *worker, entries(1_000), &[]);
    assert_eq!(answer.accepted.len(), 1_000);
    let answer = settle(&mut *worker, entries(0), &[]);
    assert_eq!(answer.accepted.len(), 2_000);
}

/// Workers that try to consume the same states at the same time.
fn contention(backend: &Backend) {
    const WORKERS: usize = 4;
    const BATCHES: u64 = 25;
    let outcomes: Vec<Vec<(Entry, bool)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WORKERS)
            .map(|place| {
                let mut worker = backend.worker(place);
                scope.spawn(move || {
                    let mut outcomes = Vec::new();
                    for batch in 0..BATCHES {
                        let number = 2_000_000 + batch * 100 + place as u64;
                        // Two entries that exclude those of other workers, and one of its own.
                        let first = 3_000_000 + batch * 10;
                        let entries = vec![
                            entry(number, &[first, first + 1], &[]),
                            entry(number + 10, &[first + 2 + place as u64 % 2], &[]),
                            entry(number + 20, &[4_000_000 + number], &[first + 9]),
                        ];
                        let answer = settle(&mut *worker, entries.clone(), &[]);
                        for entry in entries {
                            let is_entered = entry.is_free(&answer);
                            outcomes.push((entry, is_entered));
                        }
                    }
                    outcomes
                })
            })
            .collect();
        let joined = threads.into_iter().map(|one| one.join().expect("no panic"));
        joined.collect()
    });
    let all: Vec<(Entry, bool)> = outcomes.into_iter().flatten().collect();
    let mut consumers: BTreeMap<StateRef, TxId> = BTreeMap::new();
    for (entry, _) in all.iter().filter(|(_, is_entered)| *is_entered) {
        for input in &entry.inputs {
            let before = consumers.insert(*input, entry.id);
            assert_eq!(before, None, "{input} is consumed twice");
        }
    }
    let mut worker = backend.worker(0);
    for (entry, is_entered) in all {
        let answer = settle(&mut *worker, vec![entry.clone()], &[]);
        assert_eq!(answer.accepted.contains(&entry.id), is_entered);
        for input in &entry.inputs {
            assert_eq!(answer.consumers.get(input), consumers.get(input), "{input}");
        }
    }
}

/// Two workers that enter batches with a common state at the same moment, so that the database undoes one of the two as late as it can. What
/// it has confirmed is there, whole: the transaction and its states. MariaDB once confirmed what its cluster had undone.
fn at_the_same_moment(backend: &Backend) {
    const ROUNDS: u64 = 500;
    /// Entries of a batch with states that no other batch has.
    const OWN: u64 = 5;
    let barrier = std::sync::Barrier::new(2);
    let entered: Vec<Entry> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2u64)
            .map(|place| {
                let (mut worker, barrier) = (backend.worker(place as usize), &barrier);
                scope.spawn(move || {
                    let mut entered = Vec::new();
                    for round in 0..ROUNDS {
                        let first = 20_000_000 + (2 * round + place) * 100;
                        let own = (1..=OWN).map(|at| entry(first + at, &[first + 3 * at], &[]));
                        let common = entry(first, &[30_000_000 + round], &[]);
                        let entries: Vec<Entry> = own.chain([common]).collect();
                        barrier.wait();
                        let answer = settle(&mut *worker, entries.clone(), &[]);
                        entered.extend(entries.into_iter().filter(|one| one.is_free(&answer)));
                    }
                    entered
                })
            })
            .collect();
        let joined = threads.into_iter().map(|one| one.join().expect("no panic"));
        joined.flatten().collect()
    });
    assert_eq!(entered.len() as u64, ROUNDS * (2 * OWN + 1));
    let mut worker = backend.worker(0);
    for part in entered.chunks(100) {
        let answer = settle(&mut *worker, part.to_vec(), &[]);
        for entry in part {
            assert!(answer.accepted.contains(&entry.id), "{} is lost", entry.id);
            let consumer = answer.consumers.get(&entry.inputs[0]);
            assert_eq!(consumer, Some(&entry.id), "{}", entry.inputs[0]);
        }
    }
}

/// Workers that open an empty database at the same moment. All of them make the tables, and none fails.
fn opened_at_once(backend: &Backend) {
    let rounds = match backend {
        Backend::Store(_) => return,
        Backend::Galera(..) => 1,
        Backend::Postgres(..) => 30,
    };
    for round in 0..rounds {
        if round > 0 {
            backend.administer("drop schema tally_notary cascade");
        }
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for place in 0..8 {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    backend.shared(place);
                });
            }
        });
    }
}

fn suite(backend: &Backend) {
    opened_at_once(backend);
    batches(backend);
    large_batch(backend);
    contention(backend);
    at_the_same_moment(backend);
}

/// Pages and the audit of a database.
fn audited(backend: &Backend) {
    let mut record = backend.shared(0);
    let mut rows = 0;
    let mut signatures = checker();
    let found = notarydb::audit(
        &mut record,
        Audit {
            signatures: Some((&mut signatures, service().id())),
            progress: &mut |read| {
                assert!(read >= rows);
                rows = read;
            },
        },
    );
    let found = found.expect("the database is up");
    assert_eq!(found.inconsistencies, 0, "{:?}", found.shown);
    assert!(
        found.states > 30_000 && found.transactions > 3_000,
        "{found:?}"
    );
    assert_eq!(rows, found.states + found.transactions);
    let standing = record.standing().expect("the database is up");
    assert!(!standing.is_empty());
    let figures = record.meter().figures();
    assert!(
        figures.round_trips > 0 && !figures.server.is_empty(),
        "{figures:?}"
    );
}

#[test]
fn a_store() {
    suite(&Backend::store());
    crate::planted::of_store();
}

#[test]
fn a_galera_cluster() {
    let mut backend = Backend::galera();
    suite(&backend);
    audited(&backend);
    crate::hostile::of_cluster(&backend);
    crate::faults::of_cluster(&mut backend);
    crate::planted::of_cluster(&mut backend);
}

#[test]
fn a_postgres_server() {
    let mut backend = Backend::postgres();
    suite(&backend);
    audited(&backend);
    crate::hostile::of_server(&backend);
    crate::faults::of_server(&mut backend);
    crate::planted::of_server(&mut backend);
}
