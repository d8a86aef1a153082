//! The waiting requests: a queue for each requester. The queues are served in turn.
//!
//! # Invariants
//! - A requester's waiting requests take at most as much of the queue as is left free for the others. However many requesters
//!   fill their shares, there is room for one more. A single requester gets half of the queue.
//! - Requests of one requester leave in the order of arrival. Requesters take turns, weighted by the states of their requests.
//! - There is one entry for each party whose request was admitted, or answered with `notary.busy`, since the start. All are
//!   members of the network, so the network map bounds their number.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use ledger::PartyId;
use primitives::Monotonic;

use crate::budget::StateBudget;
use crate::clock::Arrival;
use crate::{NotaryOptions, Request};

/// Number of states that are decided for one requester before the next one has its turn.
const TURN_STATES: usize = 32;

/// A waiting request, with the facts decided at its arrival.
pub(crate) struct Queued {
    pub(crate) request: Request,
    pub(crate) arrived: Arrival,
}

/// Counters of one requester since the start, and gauges of its waiting requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequesterFigures {
    /// Gauge: requests that wait.
    pub queued_requests: usize,
    /// Gauge: their states.
    pub queued_states: usize,
    /// Requests answered with a signature.
    pub signed: u64,
    /// Requests refused permanently, including conflicts.
    pub refused: u64,
    /// Requests answered with `notary.busy`.
    pub busy: u64,
    /// States that no transaction had consumed before.
    pub states: u64,
}

/// One requester.
#[derive(Default)]
struct Requester {
    queue: VecDeque<Queued>,
    /// Number of states that may still be decided for it in its turn.
    credit: usize,
    budget: StateBudget,
    figures: RequesterFigures,
}

/// The rows that an accepted request adds to the notary's store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewRows {
    /// States that no transaction had consumed before.
    pub(crate) states: usize,
    /// 1, or 0 for a transaction that was accepted before.
    pub(crate) transactions: usize,
}

impl NewRows {
    /// Returns the cost in states. A transaction that consumes nothing is a row too.
    fn cost(self) -> usize {
        self.states.max(self.transactions)
    }
}

/// The waiting requests of all requesters.
#[derive(Default)]
pub(crate) struct Requesters {
    by_id: BTreeMap<PartyId, Requester>,
    /// Those that have requests waiting.
    waiting: BTreeSet<PartyId>,
    /// The one whose turn it is.
    turn: Option<PartyId>,
    requests: usize,
    states: usize,
}

impl Requesters {
    /// Returns the number of waiting requests.
    pub(crate) fn requests(&self) -> usize {
        self.requests
    }

    /// Returns the number of states of all waiting requests.
    pub(crate) fn states(&self) -> usize {
        self.states
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Tells whether a request of `weight` states fits the share of its requester. An empty queue takes any request.
    pub(crate) fn has_room(&self, id: &PartyId, weight: usize, options: &NotaryOptions) -> bool {
        if self.waiting.is_empty() {
            return true;
        }
        // Clipped at 0: an empty queue takes a request of any size, so more may wait than the limit.
        let requests_left = options.queue_requests_max.saturating_sub(self.requests);
        let states_left = options.queue_states_max.saturating_sub(self.states);
        let own = self.by_id.get(id).map(|one| one.figures);
        let own = own.unwrap_or_default();
        own.queued_requests < requests_left && own.queued_states + weight <= states_left
    }

    /// Returns the milliseconds until a requester is within its rate; 0 if it is within it now.
    pub(crate) fn wait_ms(&self, id: &PartyId, now: Monotonic, options: &NotaryOptions) -> u64 {
        let (per_s, burst) = (options.requester_states_per_s, options.requester_burst());
        let one = self.by_id.get(id);
        one.map_or(0, |one| one.budget.wait_ms(now, per_s, burst))
    }

    /// Counts a request of a requester that was answered with `notary.busy`.
    pub(crate) fn note_busy(&mut self, id: PartyId) {
        self.by_id.entry(id).or_default().figures.busy += 1;
    }

    /// Adds a request behind those of the same requester.
    pub(crate) fn push(&mut self, queued: Queued) {
        let (id, weight) = (queued.request.requester, queued.request.subject.weight());
        let one = self.by_id.entry(id).or_default();
        one.queue.push_back(queued);
        one.figures.queued_requests += 1;
        one.figures.queued_states += weight;
        self.requests += 1;
        self.states += weight;
        self.waiting.insert(id);
    }

    /// Decides which request is next, and returns its number of states. Until it is taken with [`Requesters::pop`], repeated
    /// calls name the same request.
    pub(crate) fn next_weight(&mut self) -> Option<usize> {
        loop {
            let turn = match self.turn.filter(|id| self.waiting.contains(id)) {
                Some(turn) => turn,
                None => self.next_turn()?,
            };
            let one = self.by_id.get_mut(&turn)?;
            let weight = one.queue.front()?.request.subject.weight();
            if one.credit >= weight || self.waiting.len() == 1 {
                return Some(weight);
            }
            // A requester gains credit with each turn, so a large request is taken after a bounded number of turns.
            one.credit += TURN_STATES;
            if one.credit >= weight {
                return Some(weight);
            }
            self.next_turn()?;
        }
    }

    /// Takes the request that [`Requesters::next_weight`] named.
    pub(crate) fn pop(&mut self) -> Option<Queued> {
        let id = self.turn?;
        let one = self.by_id.get_mut(&id)?;
        let queued = one.queue.pop_front()?;
        let weight = queued.request.subject.weight();
        // A requester that is alone in the queue needs no credit, so the difference is clipped at 0.
        one.credit = one.credit.saturating_sub(weight);
        one.figures.queued_requests -= 1;
        one.figures.queued_states -= weight;
        self.requests -= 1;
        self.states -= weight;
        let is_empty = one.queue.is_empty();
        if is_empty {
            one.credit = 0;
            self.waiting.remove(&id);
        }
        if is_empty || one.credit == 0 {
            self.next_turn();
        }
        Some(queued)
    }

    fn next_turn(&mut self) -> Option<PartyId> {
        let after = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let mut later = self.waiting.range((after, Bound::Unbounded));
        let next = later.next().or_else(|| self.waiting.first()).copied();
        self.turn = next.or(self.turn);
        next
    }

    /// Records that a request was decided: accepted with these new rows, or refused if `None`.
    pub(crate) fn decided(
        &mut self,
        id: PartyId,
        accepted: Option<NewRows>,
        now: Monotonic,
        options: &NotaryOptions,
    ) {
        let one = self.by_id.entry(id).or_default();
        match accepted {
            Some(rows) => {
                one.figures.signed += 1;
                one.figures.states += rows.states as u64;
                one.budget
                    .charge(now, rows.cost(), options.requester_states_per_s);
            }
            None => one.figures.refused += 1,
        }
    }

    /// Returns the figures of every requester, in the order of their ids.
    pub(crate) fn figures(&self) -> impl Iterator<Item = (PartyId, RequesterFigures)> + '_ {
        self.by_id.iter().map(|(id, one)| (*id, one.figures))
    }
}
