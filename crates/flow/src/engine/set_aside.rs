//! Setting flows aside, and ending those that are set aside. Such a flow does not run: it is paused, kept for an operator, waits
//! for a retry, or was found in the store at the start of the node.

use primitives::Encode;

use super::actions::EngineAction;
use super::flow_engine::{FlowEngine, Live};
use super::loaded::LoadedFlow;
use super::parked::ParkedFlow;
use crate::hospital::{Chart, Condition};
use crate::{FlowError, FlowId, SessionBody, SessionMessage};

impl FlowEngine {
    /// Parks a flow that cannot be replayed.
    pub(super) fn park(
        &mut self,
        flow: FlowId,
        loaded: LoadedFlow,
        reason: FlowError,
        out: &mut Vec<EngineAction>,
    ) {
        let mut chart = loaded
            .chart
            .map_or_else(|| Chart::new(Condition::Parked), |chart| *chart);
        chart.condition = Condition::Parked;
        chart.by_journal = true;
        let known = chart
            .last()
            .is_some_and(|last| last.code == reason.code && last.message == reason.message);
        // The same failure recurs at each start of the node; it is noted once.
        if !known {
            chart.note(&reason, self.now, 0);
        }
        let parked = ParkedFlow::new(loaded.start, chart, loaded.sessions, loaded.row_count);
        self.put_aside(flow, parked, out);
    }

    /// Shelves a loaded flow when the node starts: keeps it without the rows of its journal until it is
    /// [loaded](FlowEngine::load) again and [retried](FlowEngine::retry). Messages that arrive meanwhile are kept. A flow
    /// whose condition does not change at the [start](FlowEngine::resume) is not shelved. Returns whether the flow is
    /// shelved now.
    pub fn shelve(&mut self, flow: FlowId) -> bool {
        let loaded = match self.flows.remove(&flow) {
            Some(Live::Loaded(loaded)) => *loaded,
            Some(other) => {
                self.flows.insert(flow, other);
                return false;
            }
            None => return false,
        };
        if loaded.chart.as_ref().is_some_and(|chart| chart.stays()) {
            self.flows.insert(flow, Live::Loaded(Box::new(loaded)));
            return false;
        }
        let chart = loaded
            .chart
            .map_or_else(|| Chart::new(Condition::Running), |chart| *chart);
        let mut parked = ParkedFlow::new(loaded.start, chart, loaded.sessions, loaded.row_count);
        parked.shelved = true;
        self.flows.insert(flow, Live::Parked(Box::new(parked)));
        true
    }

    /// Sets a flow aside, reports that, and has its chart written.
    pub(super) fn put_aside(
        &mut self,
        flow: FlowId,
        parked: ParkedFlow,
        out: &mut Vec<EngineAction>,
    ) {
        self.shares.set_aside(&flow, true);
        chart_action(flow, &parked.chart, out);
        out.push(notice(flow, &parked.chart));
        self.flows.insert(flow, Live::Parked(Box::new(parked)));
    }

    /// Removes and returns a flow that is set aside.
    pub(super) fn take_aside(&mut self, flow: &FlowId) -> Option<ParkedFlow> {
        match self.flows.remove(flow) {
            Some(Live::Parked(parked)) => {
                self.shares.set_aside(flow, false);
                Some(*parked)
            }
            Some(other) => {
                self.flows.insert(*flow, other);
                None
            }
            None => None,
        }
    }

    /// Returns whether a flow is set aside and all its rows have been handed out, so that it can be loaded from them.
    pub fn is_written(&self, flow: &FlowId) -> bool {
        matches!(self.flows.get(flow), Some(Live::Parked(parked)) if parked.is_written())
    }

    /// Ends a flow that does not run and tells the other sides of its known sessions.
    pub(super) fn discard(&mut self, flow: FlowId, error: FlowError, out: &mut Vec<EngineAction>) {
        let (start, sessions, rows, has_chart) = match self.flows.get(&flow) {
            Some(Live::Parked(_)) => match self.take_aside(&flow) {
                Some(parked) => (parked.start, parked.sessions, parked.rows, true),
                None => return,
            },
            Some(Live::Loaded(_)) => match self.flows.remove(&flow) {
                Some(Live::Loaded(loaded)) => {
                    let has_chart = loaded.chart.is_some();
                    (loaded.start, loaded.sessions, loaded.row_count, has_chart)
                }
                _ => return,
            },
            _ => return,
        };
        for session in &sessions {
            let body = SessionBody::End {
                index: u32::MAX,
                error: Some(error.for_counterparty()),
            };
            let message = SessionMessage {
                session: session.id,
                to_initiator: !session.initiated,
                body,
            };
            out.push(EngineAction::SendSession {
                peer: session.peer,
                message,
            });
        }
        self.shares.release(&flow);
        if has_chart {
            out.push(EngineAction::Chart { flow, row: None });
        }
        out.push(EngineAction::Forget { flow, steps: rows });
        out.push(EngineAction::Ended {
            flow,
            start: start.map(Box::new),
            peers: sessions.iter().map(|session| session.peer).collect(),
            outcome: Err(error),
        });
    }
}

pub(super) fn chart_action(flow: FlowId, chart: &Chart, out: &mut Vec<EngineAction>) {
    let row = Some(chart.to_bytes());
    out.push(EngineAction::Chart { flow, row });
}

fn notice(flow: FlowId, chart: &Chart) -> EngineAction {
    let reason = chart.last().map(crate::hospital::Cause::to_error);
    match (chart.condition, reason) {
        (Condition::Retrying(at), Some(reason)) => EngineAction::Retrying { flow, reason, at },
        (Condition::Parked, Some(reason)) => EngineAction::Parked { flow, reason },
        _ => EngineAction::Paused { flow },
    }
}
