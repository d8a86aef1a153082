//! The selection against a naive model with everything in plain lists: random histories, a view that lags, answers that are
//! out of date, commits that are durable later than recorded, tiny working sets.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{PartyId, SelectionRequest, StateRef};
use primitives::Coded;
use proptest::prelude::*;
use vault::{
    CoinRow, RefillRequest, Selection, SelectionError, SelectionOptions, SelectionOutput,
    ViewChange,
};

use crate::selection::coins::*;

const TOKENS: u64 = 2;
const NOTARIES: u64 = 2;

/// One event of the model.
#[derive(Clone, Debug)]
enum Op {
    /// A payment to us: a transaction with these outputs.
    Receive(u64, Vec<(u64, u64)>),
    /// A transaction without a state of ours. The view learns nothing of it.
    Witness,
    /// A flow asks.
    Request {
        token: u64,
        quantity: u64,
        notary: Option<u64>,
        ms: u64,
    },
    /// A flow that was given states records a transaction that consumes them and gives change.
    Spend { which: usize, change: u64 },
    /// A flow, perhaps a new one, names two coins to lock.
    Lock {
        by: Option<usize>,
        coins: [usize; 2],
    },
    /// A flow ends.
    Release(usize),
    /// The oldest recorded transaction is durable.
    Commit,
    /// The view includes the durable transactions, all or all but the last.
    View(bool),
    /// The view answers the oldest question.
    Answer,
    /// Time passes.
    Tick(u64),
    /// The notary knows a state as consumed.
    Quarantine(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let coins = proptest::collection::vec((1..60u64, 0..NOTARIES), 1..4);
    prop_oneof![
        3 => (0..TOKENS, coins).prop_map(|(token, coins)| Op::Receive(token, coins)),
        1 => Just(Op::Witness),
        6 => (0..TOKENS, 1..100u64, proptest::option::of(0..NOTARIES), prop_oneof![Just(5u64), Just(10_000)])
            .prop_map(|(token, quantity, notary, ms)| Op::Request { token, quantity, notary, ms }),
        3 => (0..50usize, 0..40u64).prop_map(|(which, change)| Op::Spend { which, change }),
        2 => (proptest::option::of(0..50usize), [0..50usize, 0..50usize])
            .prop_map(|(by, coins)| Op::Lock { by, coins }),
        3 => (0..50usize).prop_map(Op::Release),
        5 => Just(Op::Commit),
        3 => proptest::bool::ANY.prop_map(Op::View),
        6 => Just(Op::Answer),
        1 => (0..8u64).prop_map(Op::Tick),
        1 => (0..50usize).prop_map(Op::Quarantine),
    ]
}

struct Coin {
    token: u64,
    notary: PartyId,
    row: CoinRow,
    /// Sequence of the transaction that consumed it, recorded or not yet durable.
    spent: Option<u64>,
    locked: Option<u64>,
    quarantined: bool,
}

struct Waiter {
    flow: u64,
    token: u64,
    quantity: u64,
    notary: Option<PartyId>,
    deadline: u64,
    /// The last sequence recorded when it came, durable or not.
    recorded_seq: u64,
    held_something: bool,
}

struct World {
    options: SelectionOptions,
    selection: Selection,
    coins: Vec<Coin>,
    /// Recorded, not durable: sequence and changes.
    recorded: Vec<(u64, Vec<ViewChange>)>,
    seq: u64,
    durable: u64,
    /// The last durable transaction that changed the vault. The view comes no further.
    changed: u64,
    view: u64,
    now: u64,
    flows: u64,
    waiting: Vec<Waiter>,
    refills: Vec<RefillRequest>,
    /// Flows that ended; others are alive.
    alive: BTreeSet<u64>,
}

impl World {
    fn new(options: SelectionOptions) -> Self {
        World {
            options,
            selection: Selection::new(options, 0),
            coins: Vec::new(),
            recorded: Vec::new(),
            seq: 0,
            durable: 0,
            changed: 0,
            view: 0,
            now: 1,
            flows: 0,
            waiting: Vec::new(),
            refills: Vec::new(),
            alive: BTreeSet::new(),
        }
    }

    fn record(&mut self, token_no: u64, inputs: &[usize], outputs: &[(u64, u64)]) {
        self.seq += 1;
        let seq = self.seq;
        let mut changes = Vec::new();
        let mut refs = Vec::new();
        for input in inputs {
            let coin = &mut self.coins[*input];
            coin.spent = Some(seq);
            refs.push(coin.row.coin.reference);
            changes.push(consumed(coin.row.coin.reference, seq));
        }
        for (index, (quantity, of)) in (0u32..).zip(outputs) {
            let party = notary(*of);
            let row = row(seq, index, *quantity, &party);
            changes.push(produced(token(token_no), row.clone()));
            self.coins.push(Coin {
                token: token_no,
                notary: party.id(),
                row,
                spent: None,
                locked: None,
                quarantined: false,
            });
        }
        self.selection.record(seq, &refs);
        self.recorded.push((seq, changes));
    }

    fn step(&mut self, op: &Op) {
        let now = at(self.now);
        match op {
            Op::Receive(token, outputs) => self.record(*token, &[], outputs),
            Op::Witness => self.record(0, &[], &[]),
            Op::Request {
                token: of,
                quantity,
                notary: at_notary,
                ms,
            } => {
                // Now and then a flow that is alive asks again.
                let again = self
                    .alive
                    .iter()
                    .next()
                    .copied()
                    .filter(|_| quantity % 7 == 0);
                let number = again.unwrap_or_else(|| {
                    self.flows += 1;
                    self.flows
                });
                if self.waiting.iter().any(|w| w.flow == number) {
                    return;
                }
                self.alive.insert(number);
                let party = at_notary.map(notary);
                let request: SelectionRequest = wish(token(*of), *quantity, party.as_ref(), *ms);
                self.waiting.push(Waiter {
                    flow: number,
                    token: *of,
                    quantity: *quantity,
                    notary: request.notary,
                    deadline: self.now + ms,
                    recorded_seq: self.seq,
                    held_something: self.coins.iter().any(|c| c.locked == Some(number)),
                });
                let out = self
                    .selection
                    .request(flow(number), number as u32, request, now);
                self.check(out);
            }
            Op::Spend { which, change } => {
                let holders: BTreeSet<u64> = self.coins.iter().filter_map(|c| c.locked).collect();
                let Some(holder) = pick(&holders, *which) else {
                    return;
                };
                let inputs: Vec<usize> = (0..self.coins.len())
                    .filter(|i| self.coins[*i].locked == Some(holder))
                    .collect();
                for input in &inputs {
                    self.coins[*input].locked = None;
                }
                let of = self.coins[inputs[0]].token;
                let change: Vec<(u64, u64)> =
                    (*change > 0).then_some((*change, 0)).into_iter().collect();
                self.record(of, &inputs, &change);
            }
            Op::Lock { by, coins } => self.lock(*by, coins),
            Op::Release(which) => {
                let Some(ended) = pick(&self.alive, *which) else {
                    return;
                };
                self.alive.remove(&ended);
                self.waiting.retain(|w| w.flow != ended);
                for coin in &mut self.coins {
                    if coin.locked == Some(ended) {
                        coin.locked = None;
                    }
                }
                let out = self.selection.release(flow(ended), now);
                self.check(out);
            }
            Op::Commit => {
                if self.recorded.is_empty() {
                    return;
                }
                let (seq, changes) = self.recorded.remove(0);
                self.durable = seq;
                if !changes.is_empty() {
                    self.changed = seq;
                }
                let out = self.selection.apply(seq, changes, now);
                self.check(out);
            }
            Op::View(all) => {
                self.view = self.view.max(self.changed.saturating_sub(u64::from(!all)));
            }
            Op::Answer => self.answer(),
            Op::Tick(ms) => {
                self.now += ms;
                let out = self.selection.tick(at(self.now));
                self.check(out);
                for waiter in &self.waiting {
                    assert!(waiter.deadline > self.now, "a deadline passed unnoticed");
                }
            }
            Op::Quarantine(which) => {
                let locked: BTreeSet<usize> = (0..self.coins.len())
                    .filter(|i| self.coins[*i].locked.is_some())
                    .collect();
                let Some(coin) = pick(&locked, *which) else {
                    return;
                };
                let reference = self.coins[coin].row.coin.reference;
                assert!(self.selection.quarantine(reference));
                assert!(!self.selection.quarantine(reference));
                self.coins[coin].quarantined = true;
                self.coins[coin].locked = None;
            }
        }
    }

    /// The caller of a lock ensures that a coin was not consumed long ago; the selection detects an imminent consumption.
    fn lock(&mut self, by: Option<usize>, which: &[usize; 2]) {
        let lockable: BTreeSet<usize> = (0..self.coins.len())
            .filter(|i| self.coins[*i].spent.is_none_or(|seq| seq > self.durable))
            .collect();
        let coins: Vec<usize> = which.iter().filter_map(|w| pick(&lockable, *w)).collect();
        let by = by.and_then(|by| pick(&self.alive, by));
        let by = by.unwrap_or_else(|| {
            self.flows += 1;
            self.flows
        });
        self.alive.insert(by);
        let refs: Vec<StateRef> = coins
            .iter()
            .map(|i| self.coins[*i].row.coin.reference)
            .collect();
        let is_free = |coin: &Coin| {
            coin.spent.is_none() && !coin.quarantined && coin.locked.is_none_or(|l| l == by)
        };
        let expected = coins.iter().all(|i| is_free(&self.coins[*i]));
        let locked = self.selection.lock(flow(by), &refs);
        assert_eq!(locked.is_ok(), expected, "{locked:?}");
        if expected {
            for coin in coins {
                self.coins[coin].locked = Some(by);
            }
        }
    }

    /// The view answers as it stands, out of date or not.
    fn answer(&mut self) {
        if self.refills.is_empty() {
            return;
        }
        let asked = self.refills.remove(0);
        assert!(asked.limit >= 2);
        let held = |c: &&Coin| {
            token(c.token) == asked.token
                && c.row.seq <= self.view
                && c.spent.is_none_or(|seq| seq > self.view)
        };
        let total = self
            .coins
            .iter()
            .filter(held)
            .map(|c| u128::from(c.row.quantity))
            .sum();
        let mut rows: Vec<CoinRow> = self
            .coins
            .iter()
            .filter(held)
            .map(|c| c.row.clone())
            .filter(|row| asked.from.is_none_or(|from| row.position() <= from))
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.position()));
        let more = rows.len() > asked.limit;
        rows.truncate(asked.limit);
        let out = self
            .selection
            .refilled(asked.token, rows, self.view, total, more, at(self.now));
        self.check(out);
    }

    fn check(&mut self, out: Vec<SelectionOutput>) {
        for output in out {
            match output {
                SelectionOutput::Refill(request) => {
                    assert!(
                        self.refills.iter().all(|r| r.token != request.token),
                        "one refill of a token at a time"
                    );
                    assert!(
                        request.at_least_seq <= self.changed,
                        "the view never comes to {}",
                        request.at_least_seq
                    );
                    self.refills.push(request);
                }
                SelectionOutput::Selected {
                    flow: by,
                    number,
                    states,
                } => {
                    assert_eq!(by, flow(u64::from(number)));
                    let refs = states.iter().map(|s| s.reference).collect::<Vec<_>>();
                    self.check_selected(u64::from(number), &refs);
                }
                SelectionOutput::Failed { number, error, .. } => {
                    self.check_failed(u64::from(number), &error);
                }
            }
        }
    }

    fn take_waiter(&mut self, number: u64) -> (usize, Waiter) {
        let place = self.waiting.iter().position(|w| w.flow == number);
        let place = place.expect("only who waits is answered");
        (place, self.waiting.remove(place))
    }

    fn check_selected(&mut self, number: u64, refs: &[StateRef]) {
        let (place, waiter) = self.take_waiter(number);
        let unique: BTreeSet<&StateRef> = refs.iter().collect();
        assert_eq!(unique.len(), refs.len());
        assert!(!refs.is_empty() && refs.len() <= self.options.states_per_selection_max);
        let mut sum = 0;
        let mut least = u64::MAX;
        let mut at_notary = None;
        for reference in refs {
            let coin = self
                .coins
                .iter_mut()
                .find(|c| c.row.coin.reference == *reference);
            let coin = coin.expect("a coin that exists");
            assert_eq!(coin.token, waiter.token);
            assert!(
                coin.row.seq <= self.durable,
                "selected before it was durable"
            );
            assert!(coin.spent.is_none(), "selected though it is spent");
            assert!(coin.locked.is_none(), "selected though it is locked");
            assert!(!coin.quarantined, "selected though it is set aside");
            assert!(waiter.notary.is_none_or(|n| n == coin.notary));
            assert_eq!(
                *at_notary.get_or_insert(coin.notary),
                coin.notary,
                "one notary"
            );
            coin.locked = Some(number);
            sum += coin.row.quantity;
            least = least.min(coin.row.quantity);
        }
        assert!(
            sum >= waiter.quantity && sum - least < waiter.quantity,
            "enough, and none too many"
        );
        // First come, first served: no earlier request that could have used this notary's coins still waits.
        for (other_place, other) in self.waiting.iter().enumerate() {
            let earlier = other_place < place && other.held_something >= waiter.held_something;
            let rival = other.notary.is_none() || other.notary == at_notary;
            assert!(
                !(earlier && rival && other.token == waiter.token),
                "flow {number} was served before flow {}",
                other.flow
            );
        }
    }

    /// The quantities of the coins of each notary that a waiter could use, as they stood at one sequence.
    fn usable_at(&self, waiter: &Waiter, seq: u64) -> BTreeMap<PartyId, Vec<u64>> {
        let mut usable: BTreeMap<PartyId, Vec<u64>> = BTreeMap::new();
        for c in &self.coins {
            if c.token == waiter.token
                && c.row.seq <= seq
                && c.spent.is_none_or(|spent| spent > seq)
                && !c.quarantined
                && waiter.notary.is_none_or(|n| n == c.notary)
            {
                usable.entry(c.notary).or_default().push(c.row.quantity);
            }
        }
        usable
    }

    fn check_failed(&mut self, number: u64, error: &SelectionError) {
        let (_, waiter) = self.take_waiter(number);
        let moments = waiter.recorded_seq..=self.durable;
        let most_of = |states: usize, seq: u64| {
            let usable = self.usable_at(&waiter, seq).into_values();
            let best = usable.map(|mut coins| {
                coins.sort_unstable();
                coins.iter().rev().take(states).sum::<u64>()
            });
            best.max().unwrap_or(0)
        };
        match error {
            SelectionError::SelectionTimeout { .. } => assert!(waiter.deadline <= self.now),
            SelectionError::InsufficientFunds { wanted, .. } => {
                assert_eq!(*wanted, waiter.quantity);
                let mut least = moments.map(|seq| most_of(usize::MAX, seq));
                assert!(
                    least.any(|sum| sum < waiter.quantity),
                    "there was enough all the time"
                );
            }
            SelectionError::TooFragmented { states_max, .. } => {
                let mut least = moments.map(|seq| most_of(*states_max, seq));
                assert!(
                    least.any(|sum| sum < waiter.quantity),
                    "few enough states sufficed"
                );
            }
            _ => panic!("nobody may be turned away: {}", error.code()),
        }
    }

    /// Makes everything durable and seen. Then no request waits that free coins could serve, unless an earlier one waits for
    /// held coins.
    fn come_to_rest(&mut self) {
        while !self.recorded.is_empty() {
            self.step(&Op::Commit);
        }
        self.step(&Op::View(true));
        // Coins that were set aside are noticed with the next event.
        self.step(&Op::Tick(0));
        let mut rounds = 0;
        while !self.refills.is_empty() {
            self.step(&Op::Answer);
            rounds += 1;
            assert!(rounds < 1_000, "refills without end");
        }
        for of in 0..TOKENS {
            let first = self
                .waiting
                .iter()
                .filter(|w| w.token == of)
                .min_by_key(|w| !w.held_something);
            let Some(first) = first else { continue };
            for (at_notary, all) in self.usable_at(first, self.durable) {
                let free = self.coins.iter().filter(|c| {
                    c.token == of
                        && c.notary == at_notary
                        && c.spent.is_none()
                        && c.locked.is_none()
                        && !c.quarantined
                });
                let mut free: Vec<u64> = free.map(|c| c.row.quantity).collect();
                free.sort_unstable();
                let top = free
                    .iter()
                    .rev()
                    .take(self.options.states_per_selection_max);
                assert!(
                    top.sum::<u64>() < first.quantity,
                    "flow {} waits for {} though {free:?} are free of {all:?}",
                    first.flow,
                    first.quantity
                );
            }
            let held = self
                .coins
                .iter()
                .any(|c| c.token == of && c.locked.is_some());
            assert!(held, "flow {} waits for nothing", first.flow);
        }
    }
}

fn pick<T: Copy + Ord>(from: &BTreeSet<T>, which: usize) -> Option<T> {
    from.iter().nth(which % from.len().max(1)).copied()
}

fn small_options() -> impl Strategy<Value = SelectionOptions> {
    (
        2..5usize,
        0..6usize,
        2..5usize,
        0..4usize,
        0..3usize,
        proptest::bool::ANY,
    )
        .prop_map(
            |(states, more, rows, low, remembered, tight)| SelectionOptions {
                coins_per_pool_max: states + more,
                coins_bytes_max: if tight { 3_000 } else { 1 << 20 },
                tokens_max: 1,
                low_water: low,
                refill_rows: rows,
                states_per_selection_max: states,
                consumed_remembered_max: remembered,
                ..SelectionOptions::default()
            },
        )
}

proptest! {
    #![proptest_config(properties::config!(3_000))]

    #[test]
    fn any_history_keeps_the_promises(
        options in small_options(),
        ops in proptest::collection::vec(op(), 1..120),
    ) {
        let mut world = World::new(options);
        for op in &ops {
            world.step(op);
        }
        world.come_to_rest();
    }
}
