//! Failures, pauses and retries: how flows stop taking steps, and how they continue.

use std::panic::{AssertUnwindSafe, catch_unwind};

use primitives::Timestamp;

use super::actions::EngineAction;
use super::flow_engine::{FlowEngine, Live, Running};
use super::parked::ParkedFlow;
use super::run::drain;
use super::set_aside::chart_action;
use crate::cell::{Input, Output};
use crate::hospital::{Chart, Condition, KEPT_CODES, RetryKind};
use crate::{FlowError, FlowId};

/// The outcome of a request to pause a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The flow is paused.
    Done,
    /// An irrevocable request is in flight. The flow pauses once it has handled the outcome.
    Waiting,
    /// The flow was not running: it is paused already, or kept for an operator.
    Idle,
    /// There is no such flow.
    Unknown,
}

impl FlowEngine {
    /// Pauses a flow: it does not run until it is [retried](FlowEngine::retry), even after a restart. Messages that arrive
    /// meanwhile are kept, within the limit of a parked flow.
    pub fn pause(&mut self, flow: FlowId, out: &mut Vec<EngineAction>) -> Pause {
        self.catch_up(flow, out);
        if let Some(Live::Running(running)) = self.flows.get_mut(&flow) {
            let mut cell = running.shared.cell();
            if cell.is_unsettled() {
                cell.pause = true;
                return Pause::Waiting;
            }
        }
        if let Some(Live::Parked(parked)) = self.flows.get(&flow)
            && matches!(parked.chart.condition, Condition::Retrying(_))
            && parked.unsettled
        {
            return Pause::Idle;
        }
        self.halt(flow, out)
    }

    /// Pauses a flow at once, even while an irrevocable request of it is in flight. Use it where a further step does more harm
    /// than a late one, as on an older copy of the node's data. The answer to the request is ignored: once the flow is
    /// [retried](FlowEngine::retry), it makes the request again. A step that is due for an earlier input is taken first. Never returns
    /// [`Pause::Waiting`].
    pub fn halt(&mut self, flow: FlowId, out: &mut Vec<EngineAction>) -> Pause {
        self.catch_up(flow, out);
        match self.flows.get_mut(&flow) {
            None => Pause::Unknown,
            Some(Live::Loaded(_)) => Pause::Idle,
            Some(Live::Running(_)) => {
                self.pause_now(flow, out);
                Pause::Done
            }
            Some(Live::Parked(parked)) => {
                let is_shelved = std::mem::take(&mut parked.shelved);
                if !is_shelved && !matches!(parked.chart.condition, Condition::Retrying(_)) {
                    return Pause::Idle;
                }
                parked.chart.condition = Condition::Paused;
                chart_action(flow, &parked.chart, out);
                out.push(EngineAction::Paused { flow });
                // The journal of a shelved flow was not replayed, so its requests in flight are not known. Their outcome comes
                // after a resume.
                self.shares.set_aside(&flow, true);
                Pause::Done
            }
        }
    }

    pub(super) fn pause_now(&mut self, flow: FlowId, out: &mut Vec<EngineAction>) {
        let Some((mut parts, (row, sessions))) = self.take_running(flow, |cell| {
            cell.outputs
                .retain(|output| !matches!(output, Output::Effect { .. }));
            (cell.take_row(), cell.known_sessions())
        }) else {
            return;
        };
        drain(flow, &mut parts.shared.cell(), out);
        let mut chart = parts
            .chart
            .take()
            .map_or_else(|| Chart::new(Condition::Paused), |chart| *chart);
        chart.condition = Condition::Paused;
        let mut parked = ParkedFlow::new(Some(parts.start.clone()), chart, sessions, parts.rows);
        parked.gained(row, None);
        drop_future(parts);
        self.put_aside(flow, parked, out);
        self.touch(flow);
    }

    /// Decides the condition of a flow that failed: `None` if it ends with the failure.
    pub(super) fn verdict(&self, running: &Running, error: &FlowError) -> Option<Condition> {
        let cell = running.shared.cell();
        let limits = &self.environment.limits;
        let origin = running.start.origin;
        let full = origin.is_some_and(|origin| {
            !self
                .shares
                .may_keep(&origin.peer, limits.kept_responders_max)
        });
        // A killed flow ends, even if it failed.
        if cell.kill || full {
            return None;
        }
        if running.panicked {
            return Some(Condition::Parked);
        }
        let effect = match cell.last_input() {
            Some(Input::Answer(effect)) => effect,
            _ => 0,
        };
        let Some(kind) = RetryKind::of(error, effect != 0) else {
            let kept = effect != 0 && KEPT_CODES.contains(&error.code.as_ref());
            return kept.then_some(Condition::Parked);
        };
        let limit = limits.retries[kind as usize];
        let attempt = running
            .chart
            .as_ref()
            .map_or(1, |chart| chart.next_attempt(&error.code, effect));
        if attempt > limit.retries_max {
            return Some(Condition::Parked);
        }
        let at = self.now.plus_ms(limit.wait_ms(attempt, &running.start.id));
        // A wait beyond the end of time does not end: the flow stays paused until an operator retries it.
        Some(Condition::Retrying(at.unwrap_or(Timestamp::MAX)))
    }

    /// Undoes a flow's last poll, which returned an error, and unloads the flow with `condition`. `outputs` is the number of
    /// its outputs before that poll.
    pub(super) fn set_aside(
        &mut self,
        flow: FlowId,
        condition: Condition,
        error: &FlowError,
        outputs: usize,
        out: &mut Vec<EngineAction>,
    ) {
        let Some((mut running, (undone, effect, unsettled))) = self.take_running(flow, |cell| {
            let effect = match cell.last_input() {
                Some(Input::Answer(effect)) => effect,
                _ => 0,
            };
            let unsettled = cell.is_unsettled();
            (cell.undo(outputs), effect, unsettled)
        }) else {
            return;
        };
        drain(flow, &mut running.shared.cell(), out);
        let mut chart = running
            .chart
            .take()
            .map_or_else(|| Chart::new(condition), |chart| *chart);
        chart.condition = condition;
        chart.unbegun = undone.unbegun;
        chart.by_journal = false;
        chart.note(error, self.now, effect);
        let start = Some(running.start.clone());
        let mut parked = ParkedFlow::new(start, chart, undone.sessions, running.rows);
        parked.unsettled = unsettled;
        parked.gained(undone.row, undone.message.as_deref());
        drop_future(running);
        self.put_aside(flow, parked, out);
        self.touch(flow);
    }

    /// Removes a running flow and silences its cell.
    fn take_running<T>(
        &mut self,
        flow: FlowId,
        last: impl FnOnce(&mut crate::cell::Cell) -> T,
    ) -> Option<(Box<Running>, T)> {
        let running = match self.flows.remove(&flow)? {
            Live::Running(running) => running,
            other => {
                self.flows.insert(flow, other);
                return None;
            }
        };
        let last = {
            let mut cell = running.shared.cell();
            let last = last(&mut cell);
            cell.silence();
            last
        };
        Some((running, last))
    }

    fn touch(&mut self, flow: FlowId) {
        if !self.touched.contains(&flow) {
            self.touched.push(flow);
        }
    }
}

fn drop_future(running: Box<Running>) {
    let Running { future, .. } = *running;
    // Values held by a flow may panic when they are dropped.
    let _ = catch_unwind(AssertUnwindSafe(move || drop(future)));
}
