//! Several engines on one shared record of consumed states: random requests, the same request at two engines, answers that are lost
//! before or after the record has entered the batch.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{NotaryError, StateRef, TxId, consuming_hash};
use notary::{Entry, Notary, NotaryOptions, UniquenessAnswer, UniquenessCheck, Verdict};
use primitives::{Coded, Monotonic};
use proptest::prelude::*;

use crate::requests::*;

const ENGINES: usize = 2;

/// A record that several engines share.
#[derive(Default)]
struct Record {
    durable: Durable,
}

impl Record {
    /// Enters what is free, as every implementation has to, and returns the rows that were there before.
    fn enter(&mut self, check: &UniquenessCheck) -> UniquenessAnswer {
        // No more than it has to.
        let entries = || check.entries.iter();
        let states = entries().flat_map(|entry| entry.inputs.iter().chain(&entry.references));
        let ids = entries()
            .map(|entry| entry.id)
            .chain(check.look_ups.clone());
        let answer = self.durable.answer(&UniquenessCheck {
            transactions: ids.collect(),
            states: states.copied().collect(),
            ..check.clone()
        });
        for entry in check.entries.iter().filter(|entry| entry.is_free(&answer)) {
            for input in &entry.inputs {
                let before = self.durable.states.insert(*input, entry.id);
                assert_eq!(before, None, "a state is consumed once");
            }
            assert!(self.durable.transactions.insert(entry.id));
        }
        answer
    }
}

#[derive(Clone, Debug)]
enum Op {
    Send(usize, Tx),
    /// An earlier request comes again, to either engine.
    Again(usize, usize),
    /// An engine asks, and the record answers.
    Decide(usize),
    /// An engine asks, and the answer is lost. The record may have entered the batch.
    Lose(usize, bool),
}

fn op() -> impl Strategy<Value = Op> {
    let states = || proptest::collection::btree_set(0..10u64, 0..3);
    let windows = proptest::option::weighted(0.2, prop_oneof![Just((0, 10)), Just((20, 30))]);
    let transaction =
        (states(), states(), windows, 0..3u8).prop_map(|(inputs, references, window, salt)| Tx {
            references: references.difference(&inputs).copied().collect(),
            inputs: inputs.into_iter().collect(),
            window,
            salt,
        });
    let engine = || 0..ENGINES;
    prop_oneof![
        8 => (engine(), transaction).prop_map(|(engine, tx)| Op::Send(engine, tx)),
        4 => (engine(), 0..40usize).prop_map(|(engine, which)| Op::Again(engine, which)),
        6 => engine().prop_map(Op::Decide),
        1 => (engine(), any::<bool>()).prop_map(|(engine, entered)| Op::Lose(engine, entered)),
    ]
}

struct World {
    engines: Vec<Notary>,
    record: Record,
    sent: Vec<Tx>,
    /// The requests that wait at each engine.
    waiting: Vec<BTreeMap<u64, Tx>>,
    signed: BTreeSet<TxId>,
    numbers: u64,
    commits: u64,
}

impl World {
    fn admit(&mut self, engine: usize, tx: Tx) {
        self.numbers += 1;
        let admitted = self.engines[engine].admit(tx.request(self.numbers), moment(5));
        admitted.expect("there is room");
        self.waiting[engine].insert(self.numbers, tx);
    }

    fn ask(&mut self, engine: usize) -> Option<UniquenessCheck> {
        let check = self.engines[engine].ask()?;
        let mut named: BTreeSet<StateRef> = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for Entry { id, inputs, .. } in &check.entries {
            assert!(ids.insert(*id), "a transaction is entered once");
            assert!(inputs.iter().all(|input| named.insert(*input)));
        }
        for entry in &check.entries {
            let reads_consumed = entry.references.iter().filter(|one| named.contains(one));
            for reference in reads_consumed {
                let mut later = check
                    .entries
                    .iter()
                    .skip_while(|other| other.id != entry.id);
                assert!(later.any(|other| other.inputs.contains(reference)));
            }
        }
        Some(check)
    }

    fn decide(&mut self, engine: usize) {
        let Some(check) = self.ask(engine) else {
            return;
        };
        let answer = self.record.enter(&check);
        self.commits += 1;
        let now = Monotonic::from_ms(5);
        let decision = self.engines[engine].decide(check.number, &answer, self.commits, now);
        let decision = decision.expect("the batch waits");
        assert!(!decision.verdicts.is_empty(), "a batch decides something");
        for (number, verdict) in decision.verdicts {
            let tx = self.waiting[engine].remove(&number).expect("it waited");
            let is_entered = self.record.durable.transactions.contains(&tx.id());
            match verdict {
                Verdict::Accepted(place) => {
                    assert_eq!(decision.accepted[place], tx.id());
                    assert!(is_entered, "a signed transaction is in the record");
                    self.signed.insert(tx.id());
                }
                Verdict::Refused(error) => {
                    assert!(!is_entered, "{tx:?} is in the record: {error}");
                    self.check_refusal(&tx, &error);
                }
            }
        }
        assert_eq!(self.engines[engine].figures().states_in_flight, 0);
    }

    fn check_refusal(&self, tx: &Tx, error: &NotaryError) {
        let NotaryError::Conflict { conflicts } = error else {
            assert_eq!(error.code(), "notary.time_window_invalid");
            assert_eq!(tx.window, Some((20, 30)));
            return;
        };
        assert!(!conflicts.is_empty());
        for conflict in conflicts {
            let consumer = self.record.durable.states[&conflict.input];
            assert_ne!(consumer, tx.id());
            assert_eq!(conflict.consumed_by, consuming_hash(&consumer));
        }
    }

    fn lose(&mut self, engine: usize, is_entered: bool) {
        let Some(check) = self.ask(engine) else {
            return;
        };
        if is_entered {
            self.record.enter(&check);
        }
        let decision = self.engines[engine].unavailable(check.number, Monotonic::from_ms(5));
        let verdicts = decision.expect("the batch waits").verdicts;
        for (number, verdict) in verdicts {
            let Verdict::Refused(error) = verdict else {
                panic!("signed without an answer");
            };
            assert_eq!(error.code(), "notary.busy");
            // The requester asks again, at any engine.
            let tx = self.waiting[engine].remove(&number).expect("it waited");
            self.admit((engine + 1) % ENGINES, tx);
        }
    }
}

fn world() -> World {
    let options = NotaryOptions {
        is_shared: true,
        batch_requests_max: 6,
        batch_states_max: 12,
        ..NotaryOptions::default()
    };
    let engine = |_| Notary::new(options, me(), at(0));
    World {
        engines: (0..ENGINES).map(engine).collect(),
        record: Record::default(),
        sent: Vec::new(),
        waiting: vec![BTreeMap::new(); ENGINES],
        signed: BTreeSet::new(),
        numbers: 0,
        commits: 0,
    }
}

proptest! {
    #![proptest_config(properties::config!(1_000))]

    #[test]
    fn engines_on_a_shared_record_sign_what_it_holds(ops in proptest::collection::vec(op(), 1..80)) {
        let mut world = world();
        for op in ops {
            match op {
                Op::Send(engine, tx) => {
                    world.sent.push(tx.clone());
                    world.admit(engine, tx);
                }
                Op::Again(engine, which) if !world.sent.is_empty() => {
                    let tx = world.sent[which % world.sent.len()].clone();
                    world.admit(engine, tx);
                }
                Op::Again(..) => {}
                Op::Decide(engine) => world.decide(engine),
                Op::Lose(engine, is_entered) => world.lose(engine, is_entered),
            }
        }
        for engine in 0..ENGINES {
            while !world.waiting[engine].is_empty() {
                world.decide(engine);
            }
        }
        prop_assert!(world.signed.is_subset(&world.record.durable.transactions));
    }
}

#[test]
fn a_request_that_contradicts_an_earlier_one_of_its_batch_is_not_in_the_question() {
    // Requests of one batch, the states that were consumed before, the entries of the question, and the verdicts of the batch; a request
    // that comes again is left out.
    type Row<'a> = (&'a [Tx], &'a [u64], &'a [usize], &'a [(u64, bool)]);
    let (a, b, c) = (tx(&[1], &[], 0), tx(&[1, 2], &[], 1), tx(&[3], &[], 2));
    let reads = tx(&[4], &[1], 3);
    let table: &[Row<'_>] = &[
        (
            &[a.clone(), c.clone()],
            &[],
            &[0, 1],
            &[(0, true), (1, true)],
        ),
        // The first wins.
        (&[a.clone(), b.clone()], &[], &[0], &[(0, true), (1, false)]),
        (&[b.clone(), a.clone()], &[], &[0], &[(0, true), (1, false)]),
        // The first is refused, so the second has to be asked about.
        (&[b.clone(), a.clone()], &[2], &[0], &[(0, false)]),
        // The same request twice.
        (&[a.clone(), a.clone()], &[], &[0], &[(0, true), (1, true)]),
        (
            &[a.clone(), a.clone()],
            &[1],
            &[0],
            &[(0, false), (1, false)],
        ),
        // A state may be read before it is consumed, and not after.
        (
            &[reads.clone(), a.clone()],
            &[],
            &[0, 1],
            &[(0, true), (1, true)],
        ),
        (
            &[a.clone(), reads.clone()],
            &[],
            &[0],
            &[(0, true), (1, false)],
        ),
    ];
    for (requests, consumed, entries, verdicts) in table {
        let mut world = world();
        let other = tx(consumed, &[], 9);
        if !consumed.is_empty() {
            world.admit(0, other);
            world.decide(0);
        }
        let first = world.numbers + 1;
        for tx in *requests {
            world.admit(0, tx.clone());
        }
        let check = world.ask(0).expect("requests wait");
        let found: Vec<TxId> = check.entries.iter().map(|entry| entry.id).collect();
        let wanted: Vec<TxId> = entries.iter().map(|place| requests[*place].id()).collect();
        assert_eq!(found, wanted, "{requests:?}");
        let answer = world.record.enter(&check);
        let now = Monotonic::from_ms(5);
        let decided = world.engines[0].decide(check.number, &answer, 99, now);
        let found = decided.expect("the batch waits").verdicts;
        let found: Vec<(u64, bool)> = found
            .into_iter()
            .map(|(number, verdict)| (number - first, matches!(verdict, Verdict::Accepted(_))))
            .collect();
        assert_eq!(found, *verdicts, "{requests:?}");
    }
}
