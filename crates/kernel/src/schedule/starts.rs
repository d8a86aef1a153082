//! Scheduled states: their rows are written with the transactions that make and consume them, and their flows are started
//! when the time comes, each once.
//!
//! A counterparty may write any flow's name into a state, so only flows registered for it are started so.

use flow::FlowId;
use ledger::{Rejection, StateRef, WireTransaction};
use primitives::{Decode, Domain, Encode, Hash, Seed};
use vault::ViewChange;

use crate::command::{FlowsCommand, ScheduleCommand};
use crate::context::Context;
use crate::errors;
use crate::event::{Action, Start, Token, Wait};
use crate::flows::caller::start_digest;
use crate::flows::queue::Queued;
use crate::ledger_book::Book;
use crate::pages::row_page;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{client_key, schedule_key_of};
use crate::schedule::table::{Due, SCHEDULE_REFUSED, Schedule, ScheduleRow};

/// The user in whose name scheduled flows are started.
pub const SCHEDULE_USER: &str = "schedule";
/// A flow's name is kept up to this many bytes; no longer one is registered.
const FLOW_NAME_BYTES_MAX: usize = 128;
/// Maximum number of refused rows examined when a node opens, in case their flows can be started now.
const REFUSED_LOOKED_AT: usize = 10_000;
/// Approximate maximum size of these rows, in bytes.
const REFUSED_BYTES: usize = 4 << 20;

/// Returns the client id of a start that a state scheduled. The outcome of the start is stored under it.
pub fn schedule_client_id(state: &StateRef) -> String {
    format!("{}:{}", state.tx, state.index)
}

/// Returns the digest of the start that a client id stands for, if it is known.
pub(crate) type KnownStart<'a> = &'a dyn Fn(&Hash) -> Result<Option<Hash>, StoreFailure>;

impl Schedule {
    /// Writes the rows of a transaction that is being recorded: the rows of the states that it consumes are deleted, and the states
    /// that it makes get theirs.
    pub(crate) fn recorded(
        &mut self,
        wire: &WireTransaction,
        changes: &[ViewChange],
        book: &Book,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if self.has_rows() {
            for input in wire.inputs() {
                let Some(state) = book.state(input, reads)? else {
                    continue;
                };
                let facts = context.identity.contracts.describe(&state).ok();
                if let Some(scheduled) = facts.and_then(|facts| facts.scheduled)
                    && let Some(flow) = self.end((scheduled.at, *input), context)
                {
                    context.command(FlowsCommand::WithdrawStart { flow });
                }
            }
        }
        let commit = context.commits.next();
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
                self.put(due, flow, commit, &mut context.round.batch);
            }
        }
        Ok(())
    }

    /// Returns the next start whose time has come, for the queue of starts. Refuses rows on the way that cannot be started, and
    /// deletes those that were started before. Takes at most `rows_left` rows, and lowers it by their number.
    pub(crate) fn next_start(
        &mut self,
        rows_left: &mut usize,
        known: KnownStart<'_>,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<Option<Queued>, StoreFailure> {
        while *rows_left > 0
            && let Some((due, flow)) = self.due(context.now.wall, reads)?
        {
            *rows_left -= 1;
            assert!(
                due.0 <= context.now.wall,
                "a flow that is due at {} starts at {}",
                due.0,
                context.now.wall
            );
            if !context.identity.flows.is_schedulable(&flow) {
                let text = format!("'{flow}' is not registered as a flow that states may schedule");
                let rejection = errors::rejection(&errors::NOT_SCHEDULABLE, text);
                self.refuse_start(due, flow, rejection, context);
                continue;
            }
            let (key, digest, start) = scheduled_start(due, flow, context);
            match known(&key)? {
                None => {
                    self.queue(due, start.flow);
                    return Ok(Some(Queued {
                        start,
                        client: Some((key, digest)),
                        waits: Vec::new(),
                        scheduled: Some(due),
                    }));
                }
                // A flow was started for it before.
                Some(known) if known == digest => drop(self.end(due, context)),
                Some(_) => {
                    let text = "the client id of a scheduled start stands for another start";
                    let rejection = errors::rejection(&errors::CLIENT_ID_REUSED, text);
                    self.refuse_start(due, start.name, rejection, context);
                }
            }
        }
        Ok(None)
    }

    /// Carries out a command.
    pub(crate) fn on_command(&mut self, command: ScheduleCommand, context: &mut Context) {
        match command {
            ScheduleCommand::Started { due, flow, name } => self.started(due, flow, name, context),
            ScheduleCommand::Refuse {
                due,
                name,
                rejection,
            } => self.refuse_start(due, name, rejection, context),
            ScheduleCommand::End { due } => {
                self.end(due, context);
            }
        }
    }

    /// Deletes the row of a scheduled flow that runs. Its first journal row is in the same batch.
    fn started(&mut self, due: Due, flow: FlowId, name: String, context: &mut Context) {
        self.end(due, context);
        context.figures.scheduled_started += 1;
        context.act(Action::Scheduled {
            flow,
            name,
            state: due.1,
            refusal: None,
        });
    }

    /// Handles a scheduled flow that cannot be started: keeps the row with the reason, counts and logs it.
    fn refuse_start(
        &mut self,
        due: Due,
        name: String,
        rejection: Rejection,
        context: &mut Context,
    ) {
        let (state, commit) = (due.1, context.commits.next());
        context.figures.scheduled_refused += 1;
        // A counterparty may write such an entry into any number of states, so the log has a limit.
        if let Some(silent) = context.may_complain(context.my_id) {
            let shown = name.escape_debug();
            let text = format!(
                "the flow '{shown}' that the state {state} has scheduled is not started: {} ({}); {silent} lines before it were not written",
                rejection.message.escape_debug(),
                rejection.code
            );
            context.warn(errors::NOT_SCHEDULABLE.code, text);
        }
        context.act(Action::Scheduled {
            flow: FlowId([0; 16]),
            name: name.clone(),
            state,
            refusal: Some(rejection.clone()),
        });
        self.refuse(due, name, rejection, commit, &mut context.round.batch);
    }

    /// Restores refused rows whose flows this binary can start, when a node opens.
    pub(crate) fn retry_refused(
        &mut self,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let from = vec![SCHEDULE_REFUSED];
        let page = row_page(
            reads,
            Table::Schedule,
            from,
            None,
            REFUSED_LOOKED_AT,
            REFUSED_BYTES,
        )?;
        let commit = context.commits.next();
        for (key, value) in page.rows {
            if let (Some((_, at, state)), Ok(row)) =
                (schedule_key_of(&key), ScheduleRow::from_bytes(&value))
                && context.identity.flows.is_schedulable(&row.flow)
            {
                self.end((at, state), context);
                self.put((at, state), &row.flow, commit, &mut context.round.batch);
            }
        }
        Ok(())
    }

    /// Deletes the row of a start. Returns the flow that waits for a place, if it is one.
    fn end(&mut self, due: Due, context: &mut Context) -> Option<FlowId> {
        let commit = context.commits.next();
        self.remove(due, commit, &mut context.round.batch)
    }
}

/// Returns the start that a state has scheduled, with the key of its client id and its digest. It is the same after each start of
/// the node.
fn scheduled_start(due: Due, name: String, context: &Context) -> (Hash, Hash, Start) {
    let state = due.1.to_bytes();
    let derive = |what: &[u8]| {
        let secret = context.options.entropy.expose();
        Hash::of(Domain::Derive, &[what, secret, &state])
    };
    let mut flow = [0; 16];
    flow.copy_from_slice(&derive(b"scheduled flow").as_bytes()[..16]);
    let client_id = schedule_client_id(&due.1);
    let digest = start_digest(&name, None, &state);
    let key = client_key(SCHEDULE_USER, &client_id);
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
    (key, digest, start)
}
