//! The engine.
//!
//! # Invariants
//! - A state has at most one consumer, among what is durable and what is on its way together.
//! - A transaction that was accepted once is accepted whenever it comes again.
//! - Requests are decided in the order in which they were admitted.

use std::collections::{HashMap, VecDeque};

use ledger::{NotaryError, Party, StateConflict, StateRef, TxId, WireTransaction, consuming_hash};
use primitives::Timestamp;

use crate::overlay::Overlay;
use crate::rate::Rate;
use crate::{
    AdmissionError, BatchDecision, NotaryKind, NotaryOptions, Request, RequestRecord, Subject,
    Verdict,
};

/// Look-ups of what is durable. Rows submitted and not durable yet may be seen or not.
pub trait ConsumedSet {
    /// Why a look-up can fail.
    type Error;

    /// The transaction that consumed a state.
    fn consumer(&self, state: &StateRef) -> Result<Option<TxId>, Self::Error>;

    /// Whether the notary has accepted a transaction.
    fn is_committed(&self, transaction: &TxId) -> Result<bool, Self::Error>;
}

/// A request that waits, with what was decided at its arrival.
struct Queued {
    request: Request,
    arrived: Timestamp,
    in_time: bool,
}

/// Gauges for the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotaryFigures {
    /// Requests that wait.
    pub queued_requests: usize,
    /// Their states.
    pub queued_states: usize,
    /// Batches that are not durable yet.
    pub batches_in_flight: usize,
    /// Their states.
    pub states_in_flight: usize,
}

/// See the module.
pub struct Notary {
    options: NotaryOptions,
    me: Party,
    queue: VecDeque<Queued>,
    queued_states: usize,
    overlay: Overlay,
    rate: Rate,
    clock: Timestamp,
}

impl Notary {
    /// A notary. Its clock starts at `now` and never steps back.
    pub fn new(options: NotaryOptions, me: Party, now: Timestamp) -> Self {
        Self {
            options,
            me,
            queue: VecDeque::new(),
            queued_states: 0,
            overlay: Overlay::default(),
            rate: Rate::default(),
            clock: now,
        }
    }

    /// A request arrives: the time at which its window is judged, however long its verification takes.
    pub fn arrive(&mut self, now: Timestamp) -> Timestamp {
        self.clock = self.clock.max(now);
        self.clock
    }

    /// Whether requests of this form are taken: before anything of a wrong one is kept.
    pub fn check_form(&self, is_whole: bool) -> Result<(), NotaryError> {
        match (self.options.kind, is_whole) {
            (NotaryKind::Validating, false) => {
                Err(NotaryError::invalid(&AdmissionError::TransactionWanted))
            }
            (NotaryKind::NonValidating, true) => {
                Err(NotaryError::invalid(&AdmissionError::TearOffWanted))
            }
            _ => Ok(()),
        }
    }

    /// What is wrong with a transaction that this notary has not accepted before, whether it is valid or not: another
    /// notary's, too many states, too early or too late.
    pub fn look_over(&self, wire: &WireTransaction, arrived: Timestamp) -> Result<(), NotaryError> {
        let states = wire.inputs().len().saturating_add(wire.references().len());
        self.check_bounds(wire.notary(), states)?;
        match wire.time_window() {
            Some(window) if !window.contains(arrived) => Err(NotaryError::TimeWindowInvalid {
                now: arrived,
                window: *window,
            }),
            _ => Ok(()),
        }
    }

    /// Takes a request in; its time window is judged now. An error is the answer to the request.
    pub fn admit(&mut self, request: Request, now: Timestamp) -> Result<(), NotaryError> {
        let arrived = self.arrive(now);
        self.admit_arrived(request, arrived)
    }

    /// Takes a request in that [arrived](Notary::arrive) earlier. An error is the answer to the request.
    pub fn admit_arrived(
        &mut self,
        request: Request,
        arrived: Timestamp,
    ) -> Result<(), NotaryError> {
        self.check_form(!matches!(request.subject, Subject::TearOff(_)))?;
        self.check_bounds(request.subject.notary(), request.subject.states())?;
        let weight = request.subject.weight();
        let states = self.queued_states.saturating_add(weight);
        let too_many_states = states > self.options.queue_states_max && !self.queue.is_empty();
        if too_many_states || self.queue.len() >= self.options.queue_requests_max {
            let eta_ms = self.eta_ms();
            return Err(NotaryError::Busy { eta_ms });
        }
        let window = request.subject.time_window();
        self.queue.push_back(Queued {
            in_time: window.is_none_or(|window| window.contains(arrived)),
            arrived,
            request,
        });
        self.queued_states = states;
        Ok(())
    }

    /// Whether requests wait that could be decided now.
    pub fn can_decide(&self) -> bool {
        !self.queue.is_empty() && self.overlay.weight() < self.options.in_flight_states_max
    }

    /// Decides requests from the front of the queue, as many as a batch may hold. The rows are to be written in the commit
    /// of this number; numbers grow. `None` if nothing can be decided now.
    ///
    /// # Errors
    /// A look-up failed: the requests of this batch get no answer, and the engine is of no further use.
    pub fn decide_batch<S: ConsumedSet + ?Sized>(
        &mut self,
        commit: u64,
        set: &S,
    ) -> Result<Option<BatchDecision>, S::Error> {
        if !self.can_decide() {
            return Ok(None);
        }
        let mut decision = BatchDecision::default();
        let mut places: HashMap<TxId, usize> = HashMap::new();
        self.overlay.begin(commit);
        let mut states = 0usize;
        while let Some(next) = self.queue.front() {
            let weight = next.request.subject.weight();
            let many = decision.verdicts.len() >= self.options.batch_requests_max
                || states.saturating_add(weight) > self.options.batch_states_max;
            if many && !decision.verdicts.is_empty() {
                break;
            }
            let Some(queued) = self.queue.pop_front() else {
                break;
            };
            states = states.saturating_add(weight);
            self.queued_states = self.queued_states.saturating_sub(weight);
            let number = queued.request.number;
            let id = queued.request.subject.id();
            let verdict = match self.decide(queued, set, &mut decision)? {
                Some(error) => Verdict::Refused(error),
                None => Verdict::Accepted(*places.entry(id).or_insert_with(|| {
                    decision.accepted.push(id);
                    decision.accepted.len() - 1
                })),
            };
            decision.verdicts.push((number, verdict));
        }
        Ok(Some(decision))
    }

    /// Whether a transaction was accepted before, durably or about to be.
    ///
    /// # Errors
    /// The look-up failed.
    pub fn has_accepted<S: ConsumedSet + ?Sized>(
        &self,
        id: &TxId,
        set: &S,
    ) -> Result<bool, S::Error> {
        Ok(self.overlay.has(id) || set.is_committed(id)?)
    }

    /// Every commit up to this number is durable.
    pub fn committed(&mut self, upto: u64, now: Timestamp) {
        self.clock = self.clock.max(now);
        let states = self.overlay.committed(upto);
        if states > 0 {
            self.rate.committed(self.clock, states);
        }
    }

    /// How long a new request would wait, about: twice the queue at the rate of late.
    pub fn eta_ms(&mut self) -> u64 {
        let eta = self.rate.eta_ms(self.clock, self.queued_states);
        eta.unwrap_or(self.options.eta_unknown_ms)
    }

    /// Gauges.
    pub fn figures(&self) -> NotaryFigures {
        NotaryFigures {
            queued_requests: self.queue.len(),
            queued_states: self.queued_states,
            batches_in_flight: self.overlay.batches(),
            states_in_flight: self.overlay.weight(),
        }
    }

    fn check_bounds(&self, notary: Option<&Party>, states: usize) -> Result<(), NotaryError> {
        let Some(notary) = notary else {
            return Err(NotaryError::invalid(&AdmissionError::NotaryMissing));
        };
        if *notary != self.me {
            return Err(NotaryError::WrongNotary(notary.clone()));
        }
        if states > self.options.request_states_max {
            return Err(NotaryError::TooManyStates {
                count: states as u64,
                max: self.options.request_states_max as u64,
            });
        }
        Ok(())
    }

    /// Decides one request; `None` means accepted.
    fn decide<S: ConsumedSet + ?Sized>(
        &mut self,
        queued: Queued,
        set: &S,
        decision: &mut BatchDecision,
    ) -> Result<Option<NotaryError>, S::Error> {
        let Request {
            subject,
            requester,
            key,
            signature,
            ..
        } = queued.request;
        let id = subject.id();
        if self.has_accepted(&id, set)? {
            return Ok(None);
        }
        if let Subject::Committed(_) = subject {
            // Nothing was verified of it.
            return Ok(Some(NotaryError::invalid(
                &AdmissionError::TransactionWanted,
            )));
        }
        if let Some(window) = subject.time_window()
            && !queued.in_time
        {
            return Ok(Some(NotaryError::TimeWindowInvalid {
                now: queued.arrived,
                window: *window,
            }));
        }
        let mut conflicts = Vec::new();
        self.find_conflicts(subject.inputs(), false, set, &mut conflicts)?;
        self.find_conflicts(subject.references(), true, set, &mut conflicts)?;
        if !conflicts.is_empty() {
            return Ok(Some(NotaryError::conflict(conflicts)));
        }
        self.overlay.accept(id, subject.inputs(), subject.weight());
        let rows = subject.inputs().iter().map(|input| (*input, id));
        decision.states.extend(rows);
        let record = RequestRecord {
            requester,
            key,
            signature,
            at: queued.arrived,
        };
        decision.transactions.push((id, record));
        Ok(None)
    }

    fn find_conflicts<S: ConsumedSet + ?Sized>(
        &self,
        states: &[StateRef],
        is_reference: bool,
        set: &S,
        conflicts: &mut Vec<StateConflict>,
    ) -> Result<(), S::Error> {
        for state in states {
            let consumer = match self.overlay.consumer(state) {
                Some(consumer) => Some(consumer),
                None => set.consumer(state)?,
            };
            if let Some(consumer) = consumer {
                conflicts.push(StateConflict {
                    input: *state,
                    consumed_by: consuming_hash(&consumer),
                    is_reference,
                });
            }
        }
        Ok(())
    }
}
