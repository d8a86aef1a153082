//! The engine.
//!
//! # Invariants
//! - A state has at most one consumer, counting durable and pending decisions together.
//! - One question to the store is out at a time. A decision is remembered until it was durable before the last question was made,
//!   so what the answer lacks is remembered.
//! - A transaction that was accepted once is accepted whenever it comes again.
//! - Requests of one requester are decided in the order of admission; requesters take turns.
//! - No time window is judged while the clock is in doubt: a request with a window waits (`NotaryError::Busy`).
//! - A shared record enters a request before it is decided. So the window is judged before the question, with the time that the entry may
//!   take, and a request that contradicts an earlier one of its batch is not in the question.

use std::collections::{HashMap, HashSet, VecDeque};

use ledger::{
    NotaryError, Party, PartyId, StateConflict, StateRef, TimeWindow, TxId, WireTransaction,
    consuming_hash,
};
use primitives::{Moment, Monotonic, Timestamp};

use crate::batch_size::BatchSize;
use crate::clock::{Arrival, BEHIND_MAX_MS, DECISION_MS_MAX, ENTRY_MS_MAX, WindowClock};
use crate::overlay::Overlay;
use crate::rate::Rate;
use crate::requesters::{NewRows, Queued, Requesters};
use crate::{
    AdmissionError, BatchDecision, Entry, NotaryKind, NotaryOptions, Request, RequestRecord,
    RequesterFigures, Subject, UniquenessAnswer, UniquenessCheck, Verdict,
};

/// Gauges for the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotaryFigures {
    /// Requests that wait for their decision, those of the batch that waits for the store included.
    pub queued_requests: usize,
    /// Their states.
    pub queued_states: usize,
    /// Batches that are remembered because an answer of the store may lack them.
    pub batches_in_flight: usize,
    /// Their states.
    pub states_in_flight: usize,
}

/// A batch whose question to the store is not answered yet.
struct AskedBatch {
    number: u64,
    requests: Vec<Asked>,
    /// The states of its requests.
    states: usize,
    /// Every commit up to this one was durable when the question was made, so the answer shows it.
    durable: u64,
    /// The time of the question.
    at: Monotonic,
}

/// A request of a batch that is asked about.
struct Asked {
    queued: Queued,
    course: Course,
}

/// The course of a request through its batch.
enum Course {
    /// Decided by the answer; the caller writes its rows.
    Decided,
    /// Entered by the shared record unless the answer shows a reason against it.
    Entered,
    /// Only looked up: it is signed if it was accepted before, and refused with this error otherwise.
    LookedUp(NotaryError),
    /// It contradicts or repeats an earlier request of the batch. If that one is refused, this one comes into the next batch.
    Held,
}

/// The fate of a request.
enum Fate {
    Accepted,
    Refused(NotaryError),
    Again(Box<Queued>),
}

/// Decides which transactions may consume their inputs.
pub struct Notary {
    options: NotaryOptions,
    me: Party,
    requesters: Requesters,
    /// Requests of the last batch that come first in the next one.
    again: VecDeque<Queued>,
    /// The batch that waits for the answer of the store.
    asked: Option<AskedBatch>,
    batch_size: BatchSize,
    /// The number of the next question.
    next_check: u64,
    /// Every commit up to this one is durable.
    durable: u64,
    overlay: Overlay,
    rate: Rate,
    clock: WindowClock,
    /// The latest time at which the window of an accepted transaction was judged, since it was last taken.
    judged: Option<Timestamp>,
    /// The time of the latest event.
    now: Monotonic,
}

impl Notary {
    /// Makes a notary that judged time windows up to the time `latest` in earlier runs.
    pub fn new(options: NotaryOptions, me: Party, latest: Timestamp) -> Self {
        Self {
            options,
            me,
            requesters: Requesters::default(),
            again: VecDeque::new(),
            asked: None,
            batch_size: BatchSize::new(options.batch_states_max),
            next_check: 0,
            durable: 0,
            overlay: Overlay::default(),
            rate: Rate::default(),
            clock: WindowClock::new(latest),
            judged: None,
            now: Monotonic::START,
        }
    }

    /// Records the arrival of a request. Its window is judged at this time, however long its verification takes.
    pub fn arrive(&mut self, now: Moment) -> Arrival {
        self.now = self.now.max(now.monotonic);
        self.clock.arrive(Moment::new(self.now, now.wall))
    }

    /// Puts the machine's clock in doubt: no window is judged until [`Notary::trust_clock`].
    pub fn doubt_clock(&mut self) {
        self.clock.doubt();
    }

    /// Ends the doubt about the machine's clock, which shows `wall`. Judgements that were made at a later time were made by a
    /// wrong clock, so windows are judged from `wall` on. Returns `wall` if there were any. The caller writes it, so that
    /// [`Notary::new`] can continue from it.
    pub fn trust_clock(&mut self, wall: Timestamp) -> Option<Timestamp> {
        let continued = self.clock.trust(wall);
        if continued.is_some() {
            self.judged = None;
        }
        continued
    }

    /// Returns whether the machine's clock, which shows `wall`, contradicts earlier judgements.
    pub fn contradicts_judgements(&self, wall: Timestamp) -> bool {
        self.clock.behind_ms(wall) > BEHIND_MAX_MS
    }

    /// Returns how far the machine's clock is behind the latest judgement of a window, in milliseconds.
    pub fn clock_behind_ms(&self, wall: Timestamp) -> u64 {
        self.clock.behind_ms(wall)
    }

    /// Returns the latest time at which the window of an accepted transaction was judged, if it has changed since the last
    /// call. The caller writes it with the batch, so that [`Notary::new`] can continue from it.
    pub fn take_judged(&mut self) -> Option<Timestamp> {
        self.judged.take()
    }

    /// Checks whether the notary accepts requests of this form. Call it before any part of the request is kept.
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

    /// Checks a transaction that this notary has not accepted before, without verifying it. Fails if it names another notary,
    /// has too many states, or is too early or too late.
    pub fn look_over(&self, wire: &WireTransaction, arrived: Arrival) -> Result<(), NotaryError> {
        let states = wire.inputs().len() + wire.references().len();
        self.check_bounds(wire.notary(), states)?;
        wire.time_window().map_or(Ok(()), |window| {
            judge_window(window, arrived, arrived.since, 0)
        })
    }

    /// Judges the window of a transaction that has waited since its arrival. Fails if it is too late for a decision, or if the clock
    /// cannot judge.
    pub fn judge_wait(&self, wire: &WireTransaction, arrived: Arrival) -> Result<(), NotaryError> {
        let arrived = self.clock.review(arrived);
        wire.time_window()
            .map_or(Ok(()), |window| judge_window(window, arrived, self.now, 0))
    }

    /// Records the time of an event.
    pub fn advance(&mut self, now: Monotonic) {
        self.now = self.now.max(now);
    }

    /// Checks whether a requester is within its rate of newly consumed states and has room in the queue. Call it first:
    /// checking a request costs more.
    ///
    /// # Errors
    /// `notary.busy`, with the time after which the requester may try again.
    pub fn welcome(&mut self, requester: PartyId, now: Monotonic) -> Result<(), NotaryError> {
        self.now = self.now.max(now);
        let wait_ms = self.requesters.wait_ms(&requester, self.now, &self.options);
        if wait_ms > 0 {
            self.requesters.note_busy(requester);
            return Err(NotaryError::Busy { eta_ms: wait_ms });
        }
        self.find_place(requester, 1)
    }

    /// Queues a request. Its time window is judged at `now`. An error is the answer to the request.
    pub fn admit(&mut self, request: Request, now: Moment) -> Result<(), NotaryError> {
        let arrived = self.arrive(now);
        self.admit_arrived(request, arrived)
    }

    /// Queues a request that [arrived](Notary::arrive) earlier. An error is the answer to the request.
    pub fn admit_arrived(&mut self, request: Request, arrived: Arrival) -> Result<(), NotaryError> {
        self.check_form(!matches!(request.subject, Subject::TearOff(_)))?;
        self.check_bounds(request.subject.notary(), request.subject.states())?;
        self.find_place(request.requester, request.subject.weight())?;
        self.requesters.push(Queued { request, arrived });
        self.rate.asked(self.now);
        Ok(())
    }

    fn find_place(&mut self, requester: PartyId, weight: usize) -> Result<(), NotaryError> {
        if self.requesters.has_room(&requester, weight, &self.options) {
            return Ok(());
        }
        self.requesters.note_busy(requester);
        let eta_ms = self.eta_ms();
        Err(NotaryError::Busy { eta_ms })
    }

    /// Tells whether requests wait whose question to the store can be made now.
    pub fn can_ask(&self) -> bool {
        self.asked.is_none()
            && !(self.requesters.is_empty() && self.again.is_empty())
            && self.overlay.weight() < self.options.in_flight_states_max
    }

    /// Removes all requests that are not decided, without deciding them. Returns their numbers. The answer to a question that is
    /// out has no effect then.
    pub fn take_undecided(&mut self) -> Vec<u64> {
        let asked = self.asked.take();
        let asked = asked.into_iter().flat_map(|batch| batch.requests);
        let asked = asked.map(|asked| asked.queued).chain(self.again.drain(..));
        let mut numbers: Vec<u64> = asked.map(|queued| queued.request.number).collect();
        while self.requesters.next_weight().is_some()
            && let Some(queued) = self.requesters.pop()
        {
            numbers.push(queued.request.number);
        }
        assert_eq!(self.requesters.requests(), 0, "every queue is empty");
        self.forget_durable();
        numbers
    }

    /// Takes as many waiting requests as one batch may hold, from the requesters in turn, and returns the question that the store
    /// has to answer. Returns `None` if nothing can be asked now.
    pub fn ask(&mut self) -> Option<UniquenessCheck> {
        if !self.can_ask() {
            return None;
        }
        let requests = self.take_batch();
        let states = requests.iter().map(|one| one.request.subject.weight());
        let states = states.sum();
        let (requests, entries, look_ups) = match self.options.is_shared {
            true => self.plan(requests),
            false => {
                let decided = |queued| Asked {
                    queued,
                    course: Course::Decided,
                };
                let requests = requests.into_iter().map(decided).collect();
                (requests, Vec::new(), Vec::new())
            }
        };
        let subjects = || requests.iter().map(|asked| &asked.queued.request.subject);
        let touched = |subject| [Subject::inputs(subject), Subject::references(subject)];
        let check = UniquenessCheck {
            number: self.next_check,
            transactions: subjects().map(Subject::id).collect(),
            states: subjects().flat_map(touched).flatten().copied().collect(),
            entries,
            look_ups,
        };
        assert!(!requests.is_empty(), "a question without a request");
        self.next_check += 1;
        self.asked = Some(AskedBatch {
            number: check.number,
            requests,
            states,
            durable: self.durable,
            at: self.now,
        });
        Some(check)
    }

    /// Takes as many waiting requests as one batch may hold: first those that come again, then those of the requesters in turn.
    fn take_batch(&mut self) -> Vec<Queued> {
        let mut requests: Vec<Queued> = Vec::new();
        let mut states = 0usize;
        loop {
            let again = self.again.front();
            let again = again.map(|queued| queued.request.subject.weight());
            let Some(weight) = again.or_else(|| self.requesters.next_weight()) else {
                break;
            };
            let is_full = requests.len() >= self.options.batch_requests_max
                || states + weight > self.batch_size.states_max();
            if is_full && !requests.is_empty() {
                break;
            }
            let Some(queued) = self.again.pop_front().or_else(|| self.requesters.pop()) else {
                break;
            };
            states += weight;
            requests.push(queued);
        }
        requests
    }

    /// Chooses the course of each request of a batch for a shared record, and returns the entries and the look-ups of the question.
    fn plan(&self, requests: Vec<Queued>) -> (Vec<Asked>, Vec<Entry>, Vec<TxId>) {
        let mut entries: Vec<Entry> = Vec::new();
        let mut look_ups: Vec<TxId> = Vec::new();
        let mut entered: HashSet<TxId> = HashSet::new();
        let mut consumed: HashSet<StateRef> = HashSet::new();
        let mut asked = Vec::with_capacity(requests.len());
        for mut queued in requests {
            queued.arrived = self.clock.review(queued.arrived);
            let request = &queued.request;
            let subject = &request.subject;
            let mut states = subject.inputs().iter().chain(subject.references());
            let id = subject.id();
            let is_repeated = entered.contains(&id);
            let course = if let Some(error) = self.unfit(&queued) {
                look_ups.push(id);
                Course::LookedUp(error)
            } else if is_repeated || states.any(|state| consumed.contains(state)) {
                if !is_repeated {
                    // It may have been accepted long before, regardless of the earlier ones of this batch.
                    look_ups.push(id);
                }
                Course::Held
            } else {
                entered.insert(subject.id());
                consumed.extend(subject.inputs());
                entries.push(Entry {
                    id: subject.id(),
                    inputs: subject.inputs().to_vec(),
                    references: subject.references().to_vec(),
                    record: RequestRecord {
                        requester: request.requester,
                        key: request.key.clone(),
                        signature: request.signature,
                        at: queued.arrived.at,
                    },
                });
                Course::Entered
            };
            asked.push(Asked { queued, course });
        }
        (asked, entries, look_ups)
    }

    /// Returns why a request can be signed only if its transaction was accepted before.
    fn unfit(&self, queued: &Queued) -> Option<NotaryError> {
        let subject = &queued.request.subject;
        if let Subject::Committed(_) = subject {
            // Nothing was verified of it.
            return Some(NotaryError::invalid(&AdmissionError::TransactionWanted));
        }
        let arrived = self.clock.review(queued.arrived);
        let window = subject.time_window()?;
        let entry_ms = match self.options.is_shared {
            true => ENTRY_MS_MAX,
            false => 0,
        };
        judge_window(window, arrived, self.now, entry_ms).err()
    }

    /// Ends the batch whose question has this number without a decision, because the shared record could not be reached. The requesters
    /// are asked to come again. Returns `None` if the batch does not wait any more.
    pub fn unavailable(&mut self, number: u64, now: Monotonic) -> Option<BatchDecision> {
        self.now = self.now.max(now);
        let batch = self.asked.take_if(|asked| asked.number == number)?;
        // A smaller batch may be answered in time.
        let took_ms = self.now.passed_ms(batch.at);
        self.batch_size.answered(batch.states, took_ms);
        let mut decision = BatchDecision::default();
        for asked in batch.requests {
            let request = asked.queued.request;
            self.requesters.note_busy(request.requester);
            let eta_ms = UNAVAILABLE_WAIT_MS;
            let refused = Verdict::Refused(NotaryError::Busy { eta_ms });
            decision.verdicts.push((request.number, refused));
        }
        Some(decision)
    }

    /// Decides the batch whose question has this number. The caller writes the rows in the commit with the number `commit`, which
    /// is not less than any before. Returns `None` if the batch does not wait any more ([`Notary::take_undecided`]).
    pub fn decide(
        &mut self,
        number: u64,
        answer: &UniquenessAnswer,
        commit: u64,
        now: Monotonic,
    ) -> Option<BatchDecision> {
        self.now = self.now.max(now);
        assert!(
            number < self.next_check,
            "question {number} was answered before it was made"
        );
        let batch = self.asked.take_if(|asked| asked.number == number)?;
        assert!(
            batch.durable < commit,
            "a decision is written after commit {}, which was durable before it",
            batch.durable
        );
        let took_ms = self.now.passed_ms(batch.at);
        self.batch_size.answered(batch.states, took_ms);
        let mut decision = BatchDecision::default();
        let mut places: HashMap<TxId, usize> = HashMap::new();
        self.overlay.begin(commit);
        for asked in batch.requests {
            let request = &asked.queued.request;
            let (number, requester) = (request.number, request.requester);
            let id = request.subject.id();
            let rows_before = (decision.states.len(), decision.transactions.len());
            let refusal = match self.decide_request(asked, answer, &mut decision) {
                Fate::Accepted => None,
                Fate::Refused(error) => Some(error),
                Fate::Again(queued) => {
                    self.again.push_back(*queued);
                    continue;
                }
            };
            let accepted = refusal.is_none().then(|| NewRows {
                states: decision.states.len() - rows_before.0,
                transactions: decision.transactions.len() - rows_before.1,
            });
            if let Some(NotaryError::Busy { .. }) = refusal {
                self.requesters.note_busy(requester);
            } else {
                self.requesters
                    .decided(requester, accepted, self.now, &self.options);
            }
            let verdict = match refusal {
                Some(error) => Verdict::Refused(error),
                None => Verdict::Accepted(*places.entry(id).or_insert_with(|| {
                    decision.accepted.push(id);
                    decision.accepted.len() - 1
                })),
            };
            decision.verdicts.push((number, verdict));
        }
        if self.options.is_shared {
            // Every further answer of the shared record shows them.
            self.forget_upto(commit);
        }
        self.forget_durable();
        Some(decision)
    }

    /// Tells whether a transaction was accepted by a decision that the store may not show yet.
    pub fn remembers(&self, id: &TxId) -> bool {
        self.overlay.has(id)
    }

    /// Returns the consumer of a state by a decision that the store may not show yet.
    pub fn remembered_consumer(&self, state: &StateRef) -> Option<TxId> {
        self.overlay.consumer(state)
    }

    /// Remembers an acceptance that is known from elsewhere. The caller writes its rows in the commit with the number `commit`,
    /// which is not less than any before. `inputs` are states that had no consumer.
    pub fn enter(&mut self, id: TxId, inputs: &[StateRef], commit: u64) {
        assert!(
            inputs
                .iter()
                .all(|input| self.overlay.consumer(input).is_none()),
            "a state is consumed once"
        );
        self.overlay.begin(commit);
        self.overlay.accept(id, inputs, inputs.len().max(1));
    }

    /// Records that every commit up to this number is durable.
    pub fn committed(&mut self, upto: u64, now: Monotonic) {
        self.now = self.now.max(now);
        self.durable = self.durable.max(upto);
        self.forget_durable();
    }

    /// Forgets the decisions that every further answer of the store shows. The answer to the question that is out may come from
    /// a time at which only the commits before the question were durable.
    fn forget_durable(&mut self) {
        let asked = self.asked.as_ref();
        let shown = asked.map_or(self.durable, |asked| asked.durable);
        assert!(shown <= self.durable, "an answer shows durable commits");
        self.forget_upto(shown);
    }

    fn forget_upto(&mut self, shown: u64) {
        let states = self.overlay.forget(shown);
        if states > 0 {
            self.rate.committed(self.now, states);
        }
    }

    /// Estimates the wait of a new request: the time that the queue takes at the recent rate.
    pub fn eta_ms(&mut self) -> u64 {
        let eta = self.rate.eta_ms(self.now, self.requesters.states());
        eta.unwrap_or(self.options.eta_unknown_ms)
    }

    /// Returns the gauges.
    pub fn figures(&self) -> NotaryFigures {
        let asked = self.asked.as_ref();
        let (requests, states) = asked.map_or((0, 0), |asked| (asked.requests.len(), asked.states));
        let again = self.again.iter().map(|one| one.request.subject.weight());
        NotaryFigures {
            queued_requests: self.requesters.requests() + self.again.len() + requests,
            queued_states: self.requesters.states() + again.sum::<usize>() + states,
            batches_in_flight: self.overlay.batches(),
            states_in_flight: self.overlay.weight(),
        }
    }

    /// Returns the figures of each requester since the start, in the order of their ids. The caller admits members of the
    /// network only, so the network map bounds their number.
    pub fn requesters(&self) -> impl Iterator<Item = (PartyId, RequesterFigures)> + '_ {
        self.requesters.figures()
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

    /// Decides one request.
    fn decide_request(
        &mut self,
        Asked { queued, course }: Asked,
        answer: &UniquenessAnswer,
        decision: &mut BatchDecision,
    ) -> Fate {
        let subject = &queued.request.subject;
        let id = subject.id();
        if self.overlay.has(&id) || answer.accepted.contains(&id) {
            return Fate::Accepted;
        }
        let unfit = match &course {
            Course::Decided => self.unfit(&queued),
            Course::LookedUp(error) => Some(error.clone()),
            Course::Entered | Course::Held => None,
        };
        if let Some(error) = unfit {
            return Fate::Refused(self.not_too_soon(error, &queued));
        }
        let mut conflicts = self.conflicts(&id, subject.inputs(), false, answer);
        conflicts.extend(self.conflicts(&id, subject.references(), true, answer));
        if !conflicts.is_empty() {
            return Fate::Refused(NotaryError::conflict(conflicts));
        }
        if let Course::Held = course {
            return Fate::Again(Box::new(queued));
        }
        let arrived = match course {
            // Judged before the question.
            Course::Entered => queued.arrived,
            _ => self.clock.review(queued.arrived),
        };
        let Request {
            subject,
            requester,
            key,
            signature,
            ..
        } = queued.request;
        if subject.time_window().is_some() {
            assert!(arrived.can_judge, "its window was judged");
            self.judged = self.judged.max(Some(arrived.at));
        }
        self.overlay.accept(id, subject.inputs(), subject.weight());
        let rows = subject.inputs().iter().map(|input| (*input, id));
        decision.states.extend(rows);
        let record = RequestRecord {
            requester,
            key,
            signature,
            at: arrived.at,
        };
        decision.transactions.push((id, record));
        Fate::Accepted
    }

    /// Returns a refusal for a window, or asks the requester to come again. Another worker may still be about to enter the transaction, so it is
    /// refused for good only some time after the end of its window.
    fn not_too_soon(&self, error: NotaryError, queued: &Queued) -> NotaryError {
        let end = queued
            .request
            .subject
            .time_window()
            .and_then(TimeWindow::end);
        let (Some(end), true, NotaryError::TimeWindowInvalid { now, .. }) =
            (end, self.options.is_shared, &error)
        else {
            return error;
        };
        let passed_ms = now.since_ms(end).unwrap_or(u64::MAX);
        match passed_ms < REFUSED_AFTER_MS {
            true => NotaryError::Busy {
                eta_ms: REFUSED_AFTER_MS - passed_ms,
            },
            false => error,
        }
    }

    /// Returns the conflicts of states that another transaction has consumed already.
    fn conflicts(
        &self,
        id: &TxId,
        states: &[StateRef],
        is_reference: bool,
        answer: &UniquenessAnswer,
    ) -> Vec<StateConflict> {
        let conflict = |state: &StateRef| {
            let remembered = self.overlay.consumer(state);
            let consumer = remembered.or_else(|| answer.consumers.get(state).copied())?;
            // A shared record may show the states of a transaction whose acceptance was not asked for.
            (consumer != *id).then(|| StateConflict {
                input: *state,
                consumed_by: consuming_hash(&consumer),
                is_reference,
            })
        };
        states.iter().filter_map(conflict).collect()
    }
}

/// Wait sent to a requester whose time window cannot be judged because the clock is in doubt or too far behind, in
/// milliseconds.
const UNJUDGED_WAIT_MS: u64 = 1_000;

/// Time from the end of a window until a request that is too late is refused for good, if workers share a record, in milliseconds. By its own
/// clock, each worker has entered a request within [`DECISION_MS_MAX`] from the end of its window, or never enters it. The rest is for
/// the difference of the workers' clocks.
const REFUSED_AFTER_MS: u64 = DECISION_MS_MAX + ENTRY_MS_MAX;

/// Wait sent to a requester while the shared record can't be reached, in milliseconds.
const UNAVAILABLE_WAIT_MS: u64 = 1_000;

/// Judges a window at the time of the arrival, and the wait until `now` by the time that is left for a decision, which takes `entry_ms`.
fn judge_window(
    window: &TimeWindow,
    arrived: Arrival,
    now: Monotonic,
    entry_ms: u64,
) -> Result<(), NotaryError> {
    if !arrived.can_judge {
        let eta_ms = UNJUDGED_WAIT_MS;
        return Err(NotaryError::Busy { eta_ms });
    }
    let decided = now.after_ms(entry_ms);
    let is_overdue = arrived
        .decide_until(window)
        .is_some_and(|end| end < decided);
    if window.contains(arrived.at) && !is_overdue {
        return Ok(());
    }
    let waited_ms = now.passed_ms(arrived.since);
    Err(NotaryError::TimeWindowInvalid {
        // Beyond the end of time no window is open anyway.
        now: arrived.at.plus_ms(waited_ms).unwrap_or(Timestamp::MAX),
        window: *window,
    })
}
