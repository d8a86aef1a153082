//! Soft locks and coin selection on a bounded working set.
//!
//! ```text
//!  request, release, record ─┐                        ┌─► Selected { flow, number, states }
//!  apply (durable changes) ──┼──► purses, lines ──────┼─► Failed   { flow, number, error }
//!  refilled, tick ───────────┘                        └─► Refill   { token, from, limit, at_least_seq }
//! ```
//! # Invariants
//! - A state is selected only while it is durable, unconsumed, not locked, not about to be consumed, not in quarantine and not
//!   encumbered.
//! - The requests for one token are served in the order of arrival, except that those of flows that hold states already go
//!   first. A waiting request blocks later ones only at the notaries that it can be served from. A request is served completely
//!   or not at all. It fails for lack of funds only if unconsumed states, locked ones included, did not suffice at some moment
//!   after everything that was recorded when it came had become durable. A client may learn that its coins are durable, and
//!   pay with them, before the selection learns it.
//! - Each operation costs `O(log n)` for every state it moves. A request that cannot be served adds no cost to other requests.
//!
//! # Correctness
//! The caller must call [`Selection::record`] when a transaction is *recorded*, before its flow can be released. Otherwise a
//! coin that is about to be consumed would be free for a moment. It must call [`Selection::apply`] when the transaction is
//! *durable*, in the order of the ledger.

mod holdings;
mod line;
mod lock;
mod memory;
mod pool;
mod purse;
mod refill;
mod serve;

use std::collections::{BTreeMap, BTreeSet};

use ledger::{SelectionRequest, StateRef, TokenId};
use primitives::Monotonic;
use primitives::collections::{HashMap, HashSet};

use self::holdings::{HeldCoin, Holder, Holdings, Slot};
use self::line::{Place, Waiter};
use self::purse::Purse;
use crate::{
    CoinRow, FlowKey, Produced, SelectionError, SelectionFigures, SelectionOptions,
    SelectionOutput, ViewChange,
};

/// Locks states for flows and chooses coins for them.
pub struct Selection {
    options: SelectionOptions,
    holdings: Holdings,
    purses: HashMap<TokenId, Purse>,
    /// The tokens of the purses, by the ticket of the latest request for each.
    recency: BTreeMap<u64, TokenId>,
    deadlines: BTreeMap<(Monotonic, Place), TokenId>,
    /// States that their notary reports as consumed elsewhere; at most `quarantined_max`.
    quarantined: HashSet<StateRef>,
    /// States consumed while refills are outstanding. The answers to these refills may still list them.
    consumed: HashSet<StateRef>,
    /// Number of outstanding refills.
    refills: usize,
    /// Number of refills requested so far.
    refills_asked: u64,
    /// Answers to refills numbered up to this one are ignored: more states were consumed meanwhile than are remembered.
    refills_void: u64,
    /// Tokens whose waiting requests may be served now.
    touched: Vec<TokenId>,
    /// Tokens with a request that cannot be refused before this ledger sequence is durable.
    unjudged: BTreeSet<(u64, TokenId)>,
    free_bytes: usize,
    waiting: usize,
    /// The last ledger sequence recorded, durable or not.
    recorded_seq: u64,
    /// The last ledger sequence that is durable here.
    durable_seq: u64,
    /// The last one of them that changed the vault. The view comes this far, and may never come further.
    seq: u64,
    tickets: u64,
    out: Vec<SelectionOutput>,
}

impl Selection {
    /// Creates a selection that knows no coin yet. `ledger_seq` is the last sequence of the ledger at the start. Answers of the
    /// view from before it are out of date.
    pub fn new(options: SelectionOptions, ledger_seq: u64) -> Self {
        Self {
            options,
            holdings: Holdings::default(),
            purses: HashMap::default(),
            recency: BTreeMap::new(),
            deadlines: BTreeMap::new(),
            quarantined: HashSet::default(),
            consumed: HashSet::default(),
            refills: 0,
            refills_asked: 0,
            refills_void: 0,
            touched: Vec::new(),
            unjudged: BTreeSet::new(),
            free_bytes: 0,
            waiting: 0,
            recorded_seq: ledger_seq,
            durable_seq: ledger_seq,
            seq: ledger_seq,
            tickets: 0,
            out: Vec::new(),
        }
    }

    /// Restores the locks on the states that a flow selected according to its journal. Must be called before the first request.
    pub fn restore_lock(&mut self, flow: FlowKey, refs: &[StateRef]) {
        for reference in refs.iter().filter(|_| self.options.restores_locks) {
            if self.holdings.get(reference).is_none() {
                self.holdings.hold(*reference, Holder::Flow(flow), None);
            }
        }
    }

    /// Requests states for a flow; the answer comes under the same `number`, now or later. The time until its deadline begins now, also
    /// if coins of the flow itself are not durable yet.
    pub fn request(
        &mut self,
        flow: FlowKey,
        number: u32,
        request: SelectionRequest,
        now: Monotonic,
    ) -> Vec<SelectionOutput> {
        if request.quantity == 0 {
            let states = Vec::new();
            self.out.push(SelectionOutput::Selected {
                flow,
                number,
                states,
            });
        } else if self.waiting >= self.options.waiting_max {
            let waiting = self.waiting;
            let error = SelectionError::Busy { waiting };
            self.out.push(SelectionOutput::Failed {
                flow,
                number,
                error,
            });
        } else {
            self.tickets += 1;
            let place = Place {
                holds_nothing: !self.holdings.holds_something(&flow),
                ticket: self.tickets,
            };
            let deadline = now.plus_ms(request.deadline_ms);
            let waiter = Waiter {
                flow,
                number,
                quantity: request.quantity,
                notary: request.notary,
                // A deadline beyond the end of time never passes.
                deadline: deadline.unwrap_or(Monotonic::MAX),
                deadline_ms: request.deadline_ms,
                arrived_seq: self.seq,
                recorded_seq: self.recorded_seq,
            };
            self.open_purse(request.token);
            self.join(request.token, place, waiter);
            self.touch(request.token);
        }
        self.finish(now)
    }

    /// Releases the locks of a flow that ended or was killed, and drops its waiting requests. Its states are free again, except
    /// those that a recorded transaction spends.
    pub fn release(&mut self, flow: FlowKey, now: Monotonic) -> Vec<SelectionOutput> {
        // A flow without an entry holds nothing and waits for nothing.
        let holds = self.holdings.take_flow(&flow).unwrap_or_default();
        for (token, place) in holds.waits {
            self.leave(token, place);
            self.touch(token);
        }
        for reference in holds.refs {
            self.free_held(&reference);
        }
        self.finish(now)
    }

    /// Takes note of a transaction recorded at this ledger sequence, durable or not. Its inputs are never selected again.
    pub fn record(&mut self, seq: u64, inputs: &[StateRef]) {
        assert!(seq > self.recorded_seq, "the ledger only grows");
        self.recorded_seq = seq;
        for reference in inputs {
            match self.holdings.get(reference) {
                Some(Slot::Held { .. }) => self.holdings.pass_to_ledger(reference),
                Some(Slot::Free {
                    token,
                    pool,
                    position,
                }) => {
                    let (token, pool, position) = (*token, *pool, *position);
                    let row = self.remove_free(token, pool, &position);
                    self.hold(Holder::Ledger, token, pool, *reference, row);
                }
                None => self.holdings.hold(*reference, Holder::Ledger, None),
            }
        }
    }

    /// Applies the changes of the transactions up to this ledger sequence, which are durable now, in the order of the ledger.
    pub fn apply(
        &mut self,
        upto: u64,
        changes: Vec<ViewChange>,
        now: Monotonic,
    ) -> Vec<SelectionOutput> {
        assert!(
            self.durable_seq <= upto && upto <= self.recorded_seq,
            "transactions become durable in order, after they are recorded"
        );
        self.durable_seq = upto;
        for change in changes {
            match change {
                ViewChange::Consumed(consumed) => {
                    self.seq = self.seq.max(consumed.seq);
                    self.on_consumed(consumed.reference);
                }
                ViewChange::Produced(produced) => {
                    self.seq = self.seq.max(produced.seq);
                    self.on_produced(&produced);
                }
            }
        }
        assert!(
            self.seq <= upto,
            "changes are those of durable transactions"
        );
        while let Some((seq, token)) = self.unjudged.pop_first() {
            if seq > upto {
                self.unjudged.insert((seq, token));
                break;
            }
            self.touch(token);
        }
        self.finish(now)
    }

    /// Puts an unconsumed state of the vault into quarantine until it is consumed: its notary reports it as consumed elsewhere.
    /// Returns false if it is there already, or if `quarantined_max` states are.
    pub fn quarantine(&mut self, reference: StateRef) -> bool {
        if self.quarantined.len() >= self.options.quarantined_max
            || !self.quarantined.insert(reference)
        {
            return false;
        }
        self.forget_state(&reference);
        true
    }

    /// Returns whether a state is in quarantine.
    pub fn is_quarantined(&self, reference: &StateRef) -> bool {
        self.quarantined.contains(reference)
    }

    /// Returns the time at which [`tick`](Self::tick) has work to do.
    pub fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.first_key_value().map(|((at, _), _)| *at)
    }

    /// Fails the requests whose deadline has come.
    pub fn tick(&mut self, now: Monotonic) -> Vec<SelectionOutput> {
        self.finish(now)
    }

    /// Returns the gauges.
    pub fn figures(&self) -> SelectionFigures {
        SelectionFigures {
            tokens: self.purses.len(),
            free: self.purses.values().map(|purse| purse.free_count).sum(),
            free_bytes: self.free_bytes,
            held: self.holdings.held(),
            waiting: self.waiting,
            quarantined: self.quarantined.len(),
        }
    }

    fn on_produced(&mut self, produced: &Produced) {
        let Some(fungible) = &produced.facts.fungible else {
            return;
        };
        let (token, quantity) = (fungible.token, fungible.quantity);
        // A token that no request has named has no purse. Its coins stay in the view.
        if let Some(purse) = self.purses.get_mut(&token) {
            purse.produced(produced.seq, quantity);
            let row = CoinRow {
                coin: produced.state.clone(),
                quantity,
                seq: produced.seq,
            };
            self.meet(token, row);
        }
    }

    fn on_consumed(&mut self, reference: StateRef) {
        self.quarantined.remove(&reference);
        self.remember_consumed(reference);
        self.forget_state(&reference);
    }

    /// Forgets a state that is consumed or in quarantine.
    fn forget_state(&mut self, reference: &StateRef) {
        match self.holdings.remove(reference) {
            Some(Slot::Free {
                token,
                pool,
                position,
            }) => {
                self.remove_free(token, pool, &position);
                self.touch(token);
            }
            Some(Slot::Held {
                coin: Some(coin), ..
            }) => self.unhold(&coin),
            Some(Slot::Held { coin: None, .. }) | None => {}
        }
    }

    /// Removes the holder of a held state.
    fn free_held(&mut self, reference: &StateRef) {
        if let Some(Slot::Held { coin, .. }) = self.holdings.remove(reference)
            && let Some(coin) = coin
        {
            self.unhold(&coin);
            self.take_in(coin.token, coin.row);
        }
    }

    fn unhold(&mut self, coin: &HeldCoin) {
        if let Some(purse) = self.purses.get_mut(&coin.token) {
            purse.pools[coin.pool].unhold(coin.row.quantity);
        }
        self.touch(coin.token);
    }

    fn touch(&mut self, token: TokenId) {
        if !self.touched.contains(&token) {
            self.touched.push(token);
        }
    }

    /// Serves every request that can be served now, then fails those past their deadline.
    fn finish(&mut self, now: Monotonic) -> Vec<SelectionOutput> {
        self.serve_touched();
        if self.next_deadline().is_some_and(|at| at <= now) {
            self.expire(now);
            self.serve_touched();
        }
        std::mem::take(&mut self.out)
    }
}
