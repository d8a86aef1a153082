//! The engine against a naive ledger: random requests, questions that are answered late, batches on their way, replays, clocks
//! that are set and doubted, and crashes that lose every batch not yet durable.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ledger::{NotaryError, StateRef, TxId, consuming_hash};
use notary::{
    BatchDecision, DECISION_MS_MAX, Notary, NotaryOptions, UniquenessAnswer, UniquenessCheck,
    Verdict,
};
use primitives::{Coded, Moment, Monotonic};
use proptest::prelude::*;

use crate::requests::*;

#[derive(Clone, Debug)]
enum Op {
    /// A request comes.
    Send(Tx),
    /// An earlier request comes again.
    Again(usize),
    /// A batch is taken.
    Ask,
    /// It is decided: by the rows that were durable when it was taken, or by those that are durable now.
    Decide { is_late: bool },
    /// The requests that are not decided are taken back.
    TakeBack,
    /// The oldest batch is durable.
    Commit,
    /// Everything in memory is lost, and every batch not yet durable.
    Crash,
    /// The clock shows this.
    Clock(u64),
    /// This many milliseconds pass.
    Wait(u64),
    /// The clock is in doubt, or no longer.
    Doubt(bool),
}

/// A clock that is behind the latest judgement by more than this does not judge.
const BEHIND_MAX_MS: u64 = 2_000;

/// Now, or a long time later.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..60u64, 1 => 5_000..5_060u64]
}

fn transaction() -> impl Strategy<Value = Tx> {
    let states = || proptest::collection::btree_set(0..12u64, 0..3);
    (
        states(),
        states(),
        proptest::option::of((time(), 1..30u64)),
        0..3u8,
    )
        .prop_map(|(inputs, references, window, salt)| Tx {
            references: references.difference(&inputs).copied().collect(),
            inputs: inputs.into_iter().collect(),
            window: window.map(|(from, length)| (from, from + length)),
            salt,
        })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => transaction().prop_map(Op::Send),
        4 => (0..40usize).prop_map(Op::Again),
        4 => Just(Op::Ask),
        4 => any::<bool>().prop_map(|is_late| Op::Decide { is_late }),
        1 => Just(Op::TakeBack),
        4 => Just(Op::Commit),
        1 => Just(Op::Crash),
        2 => time().prop_map(Op::Clock),
        1 => (0..=DECISION_MS_MAX + 100).prop_map(Op::Wait),
        1 => any::<bool>().prop_map(Op::Doubt),
    ]
}

/// The state of a naive notary: all decisions, durable or not.
#[derive(Clone, Default)]
struct Naive {
    consumed: BTreeMap<StateRef, TxId>,
    accepted: BTreeSet<TxId>,
    /// The latest time at which the window of an accepted transaction was judged.
    judged: u64,
}

impl Naive {
    fn decide(
        &mut self,
        tx: &Tx,
        arrived: Option<u64>,
        waited_ms: u64,
    ) -> Result<(), (&'static str, Vec<StateRef>)> {
        let id = tx.id();
        if self.accepted.contains(&id) {
            return Ok(());
        }
        if let Some(window) = tx.window() {
            match arrived {
                None => return Err(("notary.busy", Vec::new())),
                Some(arrived)
                    if !window.contains(at(arrived))
                        || window.end().is_some_and(|end| {
                            arrived + waited_ms > end.as_ms() + DECISION_MS_MAX
                        }) =>
                {
                    return Err(("notary.time_window_invalid", Vec::new()));
                }
                Some(_) => {}
            }
        }
        let states = tx.inputs.iter().chain(&tx.references).map(|s| state(*s));
        let taken: Vec<StateRef> = states.filter(|s| self.consumed.contains_key(s)).collect();
        if !taken.is_empty() {
            return Err(("notary.conflict", taken));
        }
        if tx.window().is_some() {
            self.judged = self.judged.max(arrived.unwrap_or(0));
        }
        self.accepted.insert(id);
        self.consumed
            .extend(tx.inputs.iter().map(|s| (state(*s), id)));
        Ok(())
    }
}

struct World {
    options: NotaryOptions,
    notary: Notary,
    durable: Durable,
    /// The last question, until it is answered, and the answer from the rows that were durable then.
    asked: Option<(UniquenessCheck, UniquenessAnswer)>,
    /// Decided batches on their way to the disk, and the naive notary's state after each.
    flying: VecDeque<(u64, BatchDecision, Naive)>,
    naive: Naive,
    naive_durable: Naive,
    sent: Vec<Tx>,
    /// Requests admitted and not decided: number, index of the transaction, time of arrival if that is certain, and the monotonic
    /// time of the arrival.
    waiting: VecDeque<(u64, usize, Option<u64>, u64)>,
    number_of: BTreeMap<u64, usize>,
    acknowledged: BTreeSet<usize>,
    numbers: u64,
    commits: u64,
    clock: u64,
    monotonic: u64,
    in_doubt: bool,
    highest: u64,
    /// As the engine said it is to be written.
    judged: u64,
}

impl World {
    fn step(&mut self, op: &Op) {
        match op {
            Op::Send(tx) => {
                self.sent.push(tx.clone());
                self.admit(self.sent.len() - 1);
            }
            Op::Again(which) if !self.sent.is_empty() => self.admit(which % self.sent.len()),
            Op::Again(_) => {}
            Op::Ask => self.ask(),
            Op::Decide { is_late } => self.decide(*is_late),
            Op::TakeBack => {
                let expected: Vec<u64> =
                    self.waiting.drain(..).map(|(number, ..)| number).collect();
                assert_eq!(self.notary.take_undecided(), expected);
            }
            Op::Commit => {
                let Some((commit, decision, naive)) = self.flying.pop_front() else {
                    return;
                };
                self.durable.write(&decision);
                self.naive_durable = naive;
                self.notary.committed(commit, self.now().monotonic);
                for (number, verdict) in &decision.verdicts {
                    if matches!(verdict, Verdict::Accepted(_)) {
                        self.acknowledged.insert(self.number_of[number]);
                    }
                }
            }
            Op::Crash => {
                self.flying.clear();
                self.waiting.clear();
                self.asked = None;
                self.naive = self.naive_durable.clone();
                self.judged = self.naive.judged;
                self.notary = Notary::new(self.options, me(), at(self.judged));
                (self.highest, self.in_doubt) = (self.judged, false);
            }
            Op::Clock(ms) => self.clock = *ms,
            Op::Wait(ms) => self.monotonic += ms,
            Op::Doubt(true) => {
                self.in_doubt = true;
                self.notary.doubt_clock();
            }
            Op::Doubt(false) => self.trust_clock(),
        }
    }

    fn now(&self) -> Moment {
        Moment::new(Monotonic::from_ms(self.monotonic), at(self.clock))
    }

    fn trust_clock(&mut self) {
        let was_in_doubt = std::mem::take(&mut self.in_doubt);
        let was_ahead = was_in_doubt && self.highest.saturating_sub(self.clock) > BEHIND_MAX_MS;
        let continued = self.notary.trust_clock(at(self.clock));
        assert_eq!(continued, was_ahead.then(|| at(self.clock)));
        if was_ahead {
            (self.highest, self.judged) = (self.clock, self.clock);
            self.naive.judged = self.clock;
        }
    }

    fn admit(&mut self, which: usize) {
        self.numbers += 1;
        let number = self.numbers;
        let behind = self.highest.saturating_sub(self.clock);
        let can_judge = !self.in_doubt && behind <= BEHIND_MAX_MS;
        let arrived = can_judge.then(|| self.highest.max(self.clock));
        self.highest = self.highest.max(arrived.unwrap_or(0));
        match self
            .notary
            .admit(self.sent[which].request(number), self.now())
        {
            Ok(()) => {
                self.waiting
                    .push_back((number, which, arrived, self.monotonic));
                self.number_of.insert(number, which);
            }
            Err(error) => {
                assert_eq!(error.code(), "notary.busy");
                let queued = self.notary.figures().queued_requests;
                assert_eq!(queued, self.waiting.len());
                assert!(queued >= self.options.queue_requests_max / 2);
            }
        }
    }

    fn ask(&mut self) {
        if let Some(check) = self.notary.ask() {
            assert_eq!(self.notary.ask(), None, "one question at a time");
            let answer = self.durable.answer(&check);
            self.asked = Some((check, answer));
        }
    }

    fn decide(&mut self, is_late: bool) {
        let Some((check, early)) = self.asked.take() else {
            return;
        };
        let answer = match is_late {
            true => self.durable.answer(&check),
            false => early,
        };
        self.commits += 1;
        let now = self.now().monotonic;
        let decided = self.notary.decide(check.number, &answer, self.commits, now);
        let Some(decision) = decided else {
            return;
        };
        assert!(decision.verdicts.len() <= self.options.batch_requests_max);
        for (number, verdict) in &decision.verdicts {
            let (expected_number, which, arrived, since) =
                self.waiting.pop_front().expect("a request");
            assert_eq!(*number, expected_number, "decided in the order of arrival");
            let tx = &self.sent[which];
            let arrived = arrived.filter(|at| *at <= self.highest);
            let expected = self.naive.decide(tx, arrived, self.monotonic - since);
            match (verdict, expected) {
                (Verdict::Accepted(place), Ok(())) => {
                    assert_eq!(decision.accepted[*place], tx.id());
                }
                (Verdict::Refused(error), Err((code, taken))) => {
                    assert_eq!(error.code(), code);
                    assert!(
                        !self.acknowledged.contains(&which),
                        "signed once, signed for ever"
                    );
                    if let NotaryError::Conflict { conflicts } = error {
                        let found: Vec<StateRef> = conflicts.iter().map(|c| c.input).collect();
                        assert_eq!(found, taken);
                        for conflict in conflicts {
                            let by = self.naive.consumed[&conflict.input];
                            assert_eq!(conflict.consumed_by, consuming_hash(&by));
                        }
                    }
                }
                (verdict, expected) => panic!("{tx:?}: {verdict:?}, expected {expected:?}"),
            }
        }
        let judged = self.notary.take_judged().map_or(0, |at| at.as_ms());
        self.judged = self.judged.max(judged);
        assert_eq!(
            self.judged, self.naive.judged,
            "a crash forgets no judgement"
        );
        let naive = self.naive.clone();
        self.flying.push_back((self.commits, decision, naive));
    }
}

proptest! {
    #![proptest_config(properties::config!(1_000))]

    #[test]
    fn any_history_is_decided_as_by_a_naive_ledger(ops in proptest::collection::vec(op(), 1..100)) {
        let options = NotaryOptions {
            batch_requests_max: 5,
            batch_states_max: 12,
            queue_requests_max: 12,
            ..NotaryOptions::default()
        };
        let mut world = World {
            options,
            notary: Notary::new(options, me(), at(0)),
            durable: Durable::default(),
            asked: None,
            flying: VecDeque::new(),
            naive: Naive::default(),
            naive_durable: Naive::default(),
            sent: Vec::new(),
            waiting: VecDeque::new(),
            number_of: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            numbers: 0,
            commits: 0,
            clock: 0,
            monotonic: 0,
            in_doubt: false,
            highest: 0,
            judged: 0,
        };
        for op in &ops {
            world.step(op);
        }
        let acknowledged: BTreeSet<TxId> =
            world.acknowledged.iter().map(|which| world.sent[*which].id()).collect();
        prop_assert!(acknowledged.is_subset(&world.durable.transactions), "nothing acknowledged is lost");
    }
}
