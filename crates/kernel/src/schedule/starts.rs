//! Scheduled states: their rows are written with the transactions that make and consume them, and their flows are started
//! when the time comes, each once.
//!
//! A counterparty may write any flow's name into a state, so only flows registered for it are started so.

use flow::FlowId;
use ledger::{Rejection, StateRef, WireTransaction};
use primitives::{Decode, Domain, Encode, Hash, Seed, Timestamp};
use vault::ViewChange;

use crate::errors;
use crate::event::{Action, Reply, Start, Token, Wait};
use crate::flows::caller::start_digest;
use crate::flows::queue::Queued;
use crate::kernel::Kernel;
use crate::pages::row_page;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{client_key, schedule_key_of};
use crate::schedule::table::{Due, SCHEDULE_REFUSED, ScheduleRow};

/// The user in whose name scheduled flows are started.
pub const SCHEDULE_USER: &str = "schedule";
/// A flow's name is kept up to this many bytes; no longer one is registered.
const FLOW_NAME_BYTES_MAX: usize = 128;
/// Refused rows looked at when a node opens: whether their flows can be started now.
const REFUSED_LOOKED_AT: usize = 10_000;
/// Their bytes, about.
const REFUSED_BYTES: usize = 4 << 20;

/// Returns the client id of a start that a state scheduled. The outcome of the start is stored under it.
pub fn schedule_client_id(state: &StateRef) -> String {
    format!("{}:{}", state.tx, state.index)
}

impl Kernel {
    /// The rows of a transaction that is being recorded: those of the states it consumes go, those of its own come.
    pub(crate) fn schedule_recorded(
        &mut self,
        wire: &WireTransaction,
        changes: &[ViewChange],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let commit = self.context.commits.next();
        if self.schedule.has_rows() {
            for input in wire.inputs() {
                let Some(state) = self.book.state(input, reads)? else {
                    continue;
                };
                let facts = self.context.identity.contracts.describe(&state).ok();
                if let Some(scheduled) = facts.and_then(|facts| facts.scheduled) {
                    let due = (scheduled.at, *input);
                    let waits = self
                        .schedule
                        .remove(due, commit, &mut self.context.round.batch);
                    if let Some(queued) = waits.and_then(|flow| self.starts.queue.remove(&flow)) {
                        let rejection = errors::start_cancelled(&queued.start.flow);
                        for (token, _) in queued.waits {
                            self.context
                                .reply(token, Reply::Rejected(rejection.clone()));
                        }
                    }
                }
            }
        }
        for change in changes {
            if let ViewChange::Produced(produced) = change
                && let Some(scheduled) = &produced.facts.scheduled
            {
                let due = (scheduled.at, produced.state.reference);
                let mut end = scheduled.flow.len().min(FLOW_NAME_BYTES_MAX);
                while !scheduled.flow.is_char_boundary(end) {
                    end -= 1;
                }
                let flow = &scheduled.flow[..end];
                self.schedule
                    .put(due, flow, commit, &mut self.context.round.batch);
            }
        }
        Ok(())
    }

    /// Hands those whose time has come to the queue of starts, where they wait like everybody else. A few at a time.
    pub(crate) fn start_scheduled(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while !self.starts.is_draining()
            && !self.keeps_too_many()
            && !self.is_rolled_back()
            && self.gate.starts_scheduled()
            && self.starts.queue.len() < self.context.options.start_queue_max
            && let Some((due, flow)) = self.schedule.due(self.context.now.wall, reads)?
        {
            if !self.context.identity.flows.is_schedulable(&flow) {
                let text = format!("'{flow}' is not registered as a flow that states may schedule");
                let rejection = errors::rejection(&errors::NOT_SCHEDULABLE, text);
                self.refuse_scheduled(due, flow, rejection);
                continue;
            }
            let (queued, digest) = self.scheduled_start(due, flow);
            let Some((key, _)) = queued.client else {
                continue;
            };
            match self.known_start(&key, reads)? {
                None => {
                    self.schedule.queue(due, queued.start.flow);
                    self.starts.queue.push_queued(queued);
                }
                // It was started before.
                Some(known) if known == digest => {
                    let commit = self.context.commits.next();
                    self.schedule
                        .remove(due, commit, &mut self.context.round.batch);
                }
                Some(_) => {
                    let text = "the client id of a scheduled start stands for another start";
                    let rejection = errors::rejection(&errors::CLIENT_ID_REUSED, text);
                    self.refuse_scheduled(due, queued.start.name, rejection);
                }
            }
        }
        Ok(())
    }

    /// When there is something to be started; nothing while there is no room, since a flow that ends is a round of its own.
    pub(crate) fn next_scheduled(&self) -> Option<Timestamp> {
        let room = self.starts.queue.len() < self.context.options.start_queue_max;
        let waits = self.schedule.next_time();
        let stopped = self.is_rolled_back() || !self.gate.starts_scheduled();
        let full = self.starts.is_draining() || self.keeps_too_many();
        waits.filter(|_| room && !stopped && !full)
    }

    fn scheduled_start(&self, due: Due, name: String) -> (Queued, Hash) {
        let state = due.1.to_bytes();
        let derive = |what: &[u8]| {
            Hash::of(
                Domain::Derive,
                &[what, self.context.options.entropy.expose(), &state],
            )
        };
        let mut flow = [0; 16];
        flow.copy_from_slice(&derive(b"scheduled flow").as_bytes()[..16]);
        let client_id = schedule_client_id(&due.1);
        let digest = start_digest(&name, None, &state);
        let client = Some((client_key(SCHEDULE_USER, &client_id), digest));
        let start = Start {
            flow: FlowId(flow),
            seed: Seed::new(*derive(b"scheduled seed").as_bytes()),
            name,
            version: None,
            args: state,
            user: SCHEDULE_USER.to_owned(),
            client_id: Some(client_id),
            wait: Wait::Accepted,
            token: Token(0),
        };
        let queued = Queued {
            start,
            client,
            waits: Vec::new(),
            scheduled: Some(due),
        };
        (queued, digest)
    }

    /// A scheduled flow runs, and its first journal row is in this round's batch: the row goes with it.
    pub(crate) fn scheduled_started(&mut self, due: Due, flow: FlowId, name: String) {
        let commit = self.context.commits.next();
        self.schedule
            .remove(due, commit, &mut self.context.round.batch);
        self.context.figures.scheduled_started += 1;
        self.context.round.then.push(Action::Scheduled {
            flow,
            name,
            state: due.1,
            refusal: None,
        });
    }

    /// A scheduled flow can't be started: that is kept, counted, written to the log, and shown.
    pub(crate) fn refuse_scheduled(&mut self, due: Due, name: String, rejection: Rejection) {
        let (state, commit) = (due.1, self.context.commits.next());
        self.context.figures.scheduled_refused += 1;
        // A counterparty may write such an entry into any number of states, so the log has a limit.
        if let Some(silent) = self.context.may_complain(self.context.my_id) {
            let shown = name.escape_debug();
            let text = format!(
                "the flow '{shown}' that the state {state} has scheduled is not started: {} ({}); {silent} lines before it were not written",
                rejection.message.escape_debug(),
                rejection.code
            );
            self.context.warn(errors::NOT_SCHEDULABLE.code, text);
        }
        self.context.round.then.push(Action::Scheduled {
            flow: FlowId([0; 16]),
            name: name.clone(),
            state,
            refusal: Some(rejection.clone()),
        });
        let batch = &mut self.context.round.batch;
        self.schedule.refuse(due, name, rejection, commit, batch);
    }

    /// Operators cancelled a scheduled start that waited for a place: that is its end.
    pub(crate) fn scheduled_cancelled(&mut self, due: Due) {
        let commit = self.context.commits.next();
        self.schedule
            .remove(due, commit, &mut self.context.round.batch);
    }

    /// When a node opens: rows that could not be started, and whose flows this binary can start, wait again.
    pub(crate) fn retry_refused(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let from = vec![SCHEDULE_REFUSED];
        let page = row_page(
            reads,
            Table::Schedule,
            from,
            None,
            REFUSED_LOOKED_AT,
            REFUSED_BYTES,
        )?;
        let commit = self.context.commits.next();
        for (key, value) in page.rows {
            if let (Some((_, at, state)), Ok(row)) =
                (schedule_key_of(&key), ScheduleRow::from_bytes(&value))
                && self.context.identity.flows.is_schedulable(&row.flow)
            {
                let due = (at, state);
                self.schedule
                    .remove(due, commit, &mut self.context.round.batch);
                self.schedule
                    .put(due, &row.flow, commit, &mut self.context.round.batch);
            }
        }
        Ok(())
    }
}
