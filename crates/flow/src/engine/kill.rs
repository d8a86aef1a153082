//! Kills flows at their next suspension, but never between a notary's signature and the recording.

use super::actions::EngineAction;
use super::flow_engine::{FlowEngine, Live};
use super::set_aside::chart_action;
use crate::error::KILLED;
use crate::hospital::Condition;
use crate::{FlowError, FlowId};

/// The outcome of a request to kill a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// The flow has ended with `flow.killed`.
    Done,
    /// An irrevocable request is in flight. The flow is killed once the request is refused or its outcome is recorded. A flow that
    /// is kept for an operator or paused is killed at once, although an earlier request may have been granted.
    Waiting,
    /// There is no such flow.
    Unknown,
}

impl FlowEngine {
    /// Kills a flow, even one that is set aside.
    pub fn kill(&mut self, flow: FlowId, out: &mut Vec<EngineAction>) -> Kill {
        self.catch_up(flow, out);
        match self.flows.get_mut(&flow) {
            None => Kill::Unknown,
            Some(Live::Running(running)) => {
                let mut cell = running.shared.cell();
                if !cell.is_unsettled() {
                    drop(cell);
                    self.kill_now(flow, out);
                    return Kill::Done;
                }
                if !cell.kill {
                    cell.kill = true;
                    cell.journal(|row| row.kill_asked());
                    drop(cell);
                    if !running.touched {
                        running.touched = true;
                        self.touched.push(flow);
                    }
                }
                Kill::Waiting
            }
            // It is not known whether a shelved flow has an irrevocable request in flight until it is loaded and replayed.
            Some(Live::Parked(parked))
                if parked.shelved
                    || parked.unsettled
                        && matches!(parked.chart.condition, Condition::Retrying(_)) =>
            {
                if !parked.chart.kill {
                    parked.chart.kill = true;
                    chart_action(flow, &parked.chart, out);
                }
                Kill::Waiting
            }
            Some(Live::Loaded(_)) | Some(Live::Parked(_)) => {
                self.discard(flow, killed(), out);
                Kill::Done
            }
        }
    }

    /// Returns whether a running flow is to be killed as soon as no irrevocable request is in flight.
    pub fn is_kill_asked(&self, flow: &FlowId) -> bool {
        matches!(self.flows.get(flow), Some(Live::Running(running)) if running.shared.cell().kill)
    }

    pub(super) fn kill_now(&mut self, flow: FlowId, out: &mut Vec<EngineAction>) {
        self.finish(flow, Err(killed()), out);
    }
}

fn killed() -> FlowError {
    FlowError::listed(&KILLED, "the flow was killed")
}
