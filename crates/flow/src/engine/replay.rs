//! Recovery, second phase: runs a flow through the inputs of its journal, then lets it continue.

use std::panic::{AssertUnwindSafe, catch_unwind};

use primitives::Timestamp;
use primitives::collections::{HashMap, HashSet};

use super::actions::EngineAction;
use super::flow_engine::{FlowEngine, Live, Running};
use super::loaded::LoadedFlow;
use super::parked::ParkedFlow;
use super::run::drain;
use super::set_aside::chart_action;
use super::step::{StepResult, poll_once};
use crate::cell::{Input, Replay};
use crate::error::{JOURNAL_UNREADABLE, JOURNAL_UNRESOLVED, REPLAY_MISMATCHED};
use crate::hospital::Condition;
use crate::journal::{Entry, Outcome, scope_of};
use crate::{EffectResult, FlowError, FlowId, Rehydrate, SessionBody};

/// Minimum time that a counterparty has after a start of this node, in milliseconds. Its answer may have come while the node was
/// down, and is delivered again once the nodes are connected.
const GRACE_AFTER_START_MS: u64 = 60_000;

impl FlowEngine {
    /// Replays a loaded flow when the node starts and lets it continue, or parks it. A paused flow, and one kept for a
    /// reason that another binary does not change, stay as they are.
    pub fn resume(&mut self, flow: FlowId, ledger: &dyn Rehydrate, out: &mut Vec<EngineAction>) {
        if let Some(Live::Loaded(loaded)) = self.flows.get(&flow)
            && let Some(chart) = loaded.chart.as_ref().filter(|chart| chart.stays())
        {
            let chart = (**chart).clone();
            let (start, sessions) = (loaded.start.clone(), loaded.sessions.clone());
            let parked = ParkedFlow::new(start, chart, sessions, loaded.row_count);
            self.put_aside(flow, parked, out);
            return;
        }
        // Past the end of time is never.
        let grace = self.now.plus_ms(GRACE_AFTER_START_MS);
        self.restore(flow, ledger, grace.unwrap_or(Timestamp::MAX), out);
    }

    /// Replays a loaded flow while the node runs and lets it continue, or parks it.
    pub fn retry(&mut self, flow: FlowId, ledger: &dyn Rehydrate, out: &mut Vec<EngineAction>) {
        self.restore(flow, ledger, Timestamp::from_ms(0), out);
    }

    /// Replays a loaded flow and lets it continue, or parks it. Its counterparties have until `waits_until` at least.
    fn restore(
        &mut self,
        flow: FlowId,
        ledger: &dyn Rehydrate,
        waits_until: Timestamp,
        out: &mut Vec<EngineAction>,
    ) {
        let loaded = match self.flows.remove(&flow) {
            Some(Live::Loaded(loaded)) => *loaded,
            Some(other) => {
                self.flows.insert(flow, other);
                return;
            }
            None => return,
        };
        match self.replay(&loaded, ledger, waits_until) {
            Ok(mut running) => {
                let (mut unbegun, mut kill) = (false, false);
                if let Some(mut chart) = loaded.chart {
                    kill = std::mem::take(&mut chart.kill);
                    unbegun = std::mem::take(&mut chart.unbegun);
                    chart.condition = Condition::Running;
                    chart.by_journal = false;
                    // Writing the chart before the first poll would erase the mark that this poll is still to come; the
                    // next start needs it.
                    if !unbegun {
                        chart_action(flow, &chart, out);
                    }
                    running.chart = Some(chart);
                }
                {
                    let mut cell = running.shared.cell();
                    if unbegun {
                        cell.begin(Input::Start);
                    } else {
                        cell.go_live();
                    }
                    if kill {
                        cell.kill = true;
                        cell.journal(|row| row.kill_asked());
                    }
                    drain(flow, &mut cell, out);
                }
                self.insert(running);
                self.watch_silence(flow);
                if unbegun {
                    self.make_ready(flow);
                    self.catch_up(flow, out);
                    self.begun(flow, out);
                }
                for entry in loaded.deferred {
                    self.run_deferred(flow, entry, out);
                }
            }
            Err(reason) => self.park(flow, loaded, reason, out),
        }
    }

    /// Runs a message that arrived while the flow was parked. The message is journaled again. If it already ran after an
    /// earlier retry, it is a duplicate and is ignored.
    fn run_deferred(&mut self, flow: FlowId, entry: Entry, out: &mut Vec<EngineAction>) {
        let (session, body) = match entry {
            Entry::Received {
                session,
                index,
                payload,
                last,
            } => (
                session,
                SessionBody::Data {
                    index,
                    payload,
                    last,
                },
            ),
            Entry::PeerEnded {
                session,
                index,
                error,
            } => (session, SessionBody::End { index, error }),
            Entry::Confirmed { session, version } => (session, SessionBody::Confirm { version }),
            _ => return,
        };
        let Some(Live::Running(running)) = self.flows.get(&flow) else {
            return;
        };
        if running.shared.cell().arrive(session, body) {
            self.make_ready(flow);
            self.catch_up(flow, out);
        }
    }

    /// Writes the chart after a flow's first poll succeeded, which clears the mark that it is still to come.
    fn begun(&mut self, flow: FlowId, out: &mut Vec<EngineAction>) {
        if let Some(Live::Running(running)) = self.flows.get(&flow)
            && let Some(chart) = &running.chart
        {
            chart_action(flow, chart, out);
        }
    }

    fn replay(
        &self,
        loaded: &LoadedFlow,
        ledger: &dyn Rehydrate,
        waits_until: Timestamp,
    ) -> Result<Running, FlowError> {
        if let Some(reason) = &loaded.unreadable {
            return Err(reason.clone());
        }
        let start = loaded.start.clone().ok_or_else(|| {
            FlowError::listed(&JOURNAL_UNREADABLE, "the journal has no start record")
        })?;
        let mut running = self.make(start)?;
        running.rows = loaded.row_count;
        if loaded.chart.as_ref().is_some_and(|chart| chart.unbegun) {
            return Ok(running);
        }
        let plan = plan(&loaded.rows, waits_until);
        let ended = plan.ended.clone();
        {
            let mut cell = running.shared.cell();
            // Scopes of sub-flows are numbered from 1.
            cell.scopes_started = plan.scopes.values().copied().max().unwrap_or(0);
            cell.now = self.now;
            cell.replay = Some(Box::new(plan));
        }
        let replayed = feed(&mut running, &loaded.rows, &ended, ledger);
        if let Err(reason) = replayed {
            running.shared.cell().end(None);
            let Running { future, .. } = running;
            let _ = catch_unwind(AssertUnwindSafe(move || drop(future)));
            return Err(reason);
        }
        Ok(running)
    }
}

/// Collects the facts that must be known before the first poll.
fn plan(rows: &[Vec<Entry>], waits_until: Timestamp) -> Replay {
    let mut facts = HashMap::default();
    let mut scopes = HashMap::default();
    let mut parents = HashMap::default();
    let mut over = HashSet::default();
    for entry in rows.iter().flatten() {
        match entry {
            Entry::Fact { effect, value } => {
                facts.insert(*effect, *value);
            }
            Entry::Scope { effect, scope } => {
                scopes.insert(*effect, *scope);
                parents.insert(*scope, scope_of(*effect));
            }
            Entry::SubFlowEnded { effect, .. } => {
                over.extend(scopes.get(effect).copied());
            }
            _ => {}
        }
    }
    // A scope has ended if it or one above it has. A corrupt journal may contain a cycle, so the walk is bounded.
    let ended = parents
        .keys()
        .copied()
        .filter(|scope| {
            let mut at = *scope;
            for _ in 0..=parents.len() {
                if over.contains(&at) {
                    return true;
                }
                match parents.get(&at) {
                    Some(parent) if *parent != 0 => at = *parent,
                    _ => return false,
                }
            }
            false
        })
        .collect();
    Replay {
        facts,
        waits_until,
        scopes,
        ended,
    }
}

fn mismatch(text: impl Into<String>) -> FlowError {
    FlowError::listed(&REPLAY_MISMATCHED, text)
}

/// Feeds the inputs in journal order, each followed by one poll.
fn feed(
    running: &mut Running,
    rows: &[Vec<Entry>],
    ended: &HashSet<u16>,
    ledger: &dyn Rehydrate,
) -> Result<(), FlowError> {
    step(running)?;
    for entry in rows.iter().flatten().skip(1) {
        if feed_one(running, entry, ended, ledger)? {
            step(running)?;
        }
        diverged(running)?;
    }
    Ok(())
}

fn diverged(running: &Running) -> Result<(), FlowError> {
    running
        .shared
        .cell()
        .diverged
        .take()
        .map_or(Ok(()), |reason| Err(mismatch(reason)))
}

fn step(running: &mut Running) -> Result<(), FlowError> {
    let Running { future, shared, .. } = running;
    let future = future.as_mut().expect("a replay takes its own steps");
    match poll_once(future, shared) {
        StepResult::Waits => diverged(running),
        StepResult::Ended(Ok(_)) => Err(mismatch("the flow ended earlier than it did before")),
        StepResult::Ended(Err(error)) | StepResult::Panicked(error) => Err(mismatch(format!(
            "the flow failed where it did not fail before: {error}"
        ))),
    }
}

/// Delivers one entry. Returns whether it is an input that calls for a poll.
fn feed_one(
    running: &Running,
    entry: &Entry,
    ended: &HashSet<u16>,
    ledger: &dyn Rehydrate,
) -> Result<bool, FlowError> {
    let skipped = |number: &u32| ended.contains(&scope_of(*number));
    let mut cell = running.shared.cell();
    let input = match entry {
        Entry::Start(_) | Entry::Deferred => {
            return Err(mismatch("an entry that cannot stand there"));
        }
        Entry::Fact { .. } | Entry::Scope { .. } | Entry::Opened { .. } => false,
        Entry::Result { effect, .. } if skipped(effect) => false,
        Entry::Result {
            effect,
            kind,
            digest,
            result,
        } => {
            if !cell.expects(*effect, *kind, *digest) {
                let text = format!(
                    "the journal answers effect {effect} ('{}'), which the flow did not ask for in this way",
                    kind.name()
                );
                return Err(mismatch(text));
            }
            let result = rehydrate(result, ledger)?;
            cell.answer(*effect, result)
        }
        Entry::Received { session, .. }
        | Entry::PeerEnded { session, .. }
        | Entry::Confirmed { session, .. }
            if skipped(session) =>
        {
            false
        }
        Entry::Received {
            session,
            index,
            payload,
            last,
        } => {
            let (index, payload, last) = (*index, payload.clone(), *last);
            cell.arrive(
                *session,
                SessionBody::Data {
                    index,
                    payload,
                    last,
                },
            )
        }
        Entry::PeerEnded {
            session,
            index,
            error,
        } => cell.arrive(
            *session,
            SessionBody::End {
                index: *index,
                error: error.clone(),
            },
        ),
        Entry::Confirmed { session, version } => {
            cell.arrive(*session, SessionBody::Confirm { version: *version })
        }
        Entry::SubFlowEnded { effect, .. } if skipped(effect) => false,
        Entry::SubFlowEnded {
            effect,
            digest,
            result,
        } => {
            if !cell.answer_sub_flow(*effect, *digest, result.clone()) {
                return Err(mismatch(format!(
                    "the flow did not start the sub-flow of effect {effect}"
                )));
            }
            true
        }
        Entry::KillAsked => {
            cell.kill = true;
            false
        }
        Entry::Check { value } => {
            cell.check(*value);
            false
        }
    };
    Ok(input)
}

/// Restores a journaled result, with the data that it refers to.
fn rehydrate(outcome: &Outcome, ledger: &dyn Rehydrate) -> Result<EffectResult, FlowError> {
    let (result, what) = match outcome {
        Outcome::States(refs) => (
            ledger.states(refs).map(EffectResult::States),
            format!("one of {} states", refs.len()),
        ),
        Outcome::Transaction(Some(id)) => {
            let found = ledger
                .transaction(id)
                .map(|t| EffectResult::Transaction(Some(t)));
            (found, format!("transaction {id}"))
        }
        plain => (plain.clone().plain(), "a result".to_owned()),
    };
    result.ok_or_else(|| {
        FlowError::listed(&JOURNAL_UNRESOLVED, format!("{what} is not in the ledger"))
    })
}
