//! Creating, polling and ending flows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::actions::EngineAction;
use super::flow_engine::{FlowEngine, Live, Running};
use crate::cell::{Cell, Output};
use crate::flow_state::FlowState;
use crate::journal::ORIGIN_SESSION;
use crate::{FlowContext, FlowError, FlowId, Session, StartRecord};

impl FlowEngine {
    /// Creates a flow that is ready for its first poll.
    pub(super) fn make(&self, start: StartRecord) -> Result<Running, FlowError> {
        let cell = Cell::new(start.id, self.now, self.environment.limits);
        let shared = Arc::new(FlowState::new(
            start.id,
            start.seed.clone(),
            self.environment.clone(),
            cell,
        ));
        let version = start.version;
        let future = match start.origin {
            None => self
                .registry
                .run_flow(&start.flow, version, &start.args, &|name| {
                    FlowContext::new(shared.clone(), name, version)
                }),
            Some(origin) => self.registry.run_responder(&start.flow, version, &|name| {
                shared
                    .cell()
                    .origin_session(origin.session, origin.peer, version);
                let session = Session::new(shared.clone(), ORIGIN_SESSION, origin.peer);
                (FlowContext::new(shared.clone(), name, version), session)
            }),
        }?;
        Ok(Running {
            start,
            future,
            shared,
            rows: 0,
            touched: false,
            since: self.now,
            stepped: self.monotonic,
            panicked: false,
            chart: None,
        })
    }

    pub(super) fn insert(&mut self, running: Running) {
        self.flows
            .insert(running.start.id, Live::Running(Box::new(running)));
    }

    /// Polls a running flow once, after an input.
    pub(super) fn poll(&mut self, flow: FlowId, out: &mut Vec<EngineAction>) {
        let Some(Live::Running(running)) = self.flows.get_mut(&flow) else {
            return;
        };
        if !running.touched {
            running.touched = true;
            self.touched.push(flow);
        }
        running.since = self.now;
        running.stepped = self.monotonic;
        let is_responder = running.start.origin.is_some();
        let put_out = {
            let mut cell = running.shared.cell();
            cell.now = self.now;
            cell.outputs.len()
        };
        match running.poll_once() {
            Poll::Pending => {
                let mut cell = running.shared.cell();
                if cell.kill && !cell.is_unsettled() {
                    cell.outputs
                        .retain(|output| !matches!(output, Output::Effect { .. }));
                    drop(cell);
                    self.kill_now(flow, out);
                } else if cell.pause && !cell.is_unsettled() {
                    drop(cell);
                    self.pause_now(flow, out);
                } else {
                    drain(flow, &mut cell, out);
                    drop(cell);
                    if is_responder {
                        self.watch_silence(flow);
                    }
                }
            }
            Poll::Ready(outcome) => {
                let outcome = outcome.map_err(FlowError::of_unkilled);
                let Some(Live::Running(running)) = self.flows.get(&flow) else {
                    return;
                };
                let failure = outcome.as_ref().err();
                match failure.and_then(|error| Some((error, self.verdict(running, error)?))) {
                    Some((error, condition)) => {
                        self.set_aside(flow, condition, error, put_out, out);
                    }
                    None => self.finish(flow, outcome, out),
                }
            }
        }
    }

    /// Ends a running flow.
    pub(super) fn finish(
        &mut self,
        flow: FlowId,
        outcome: Result<Vec<u8>, FlowError>,
        out: &mut Vec<EngineAction>,
    ) {
        let Some(Live::Running(running)) = self.flows.remove(&flow) else {
            return;
        };
        let Running {
            start,
            future,
            shared,
            rows,
            chart,
            ..
        } = *running;
        self.shares.release(&flow);
        let peers = {
            let mut cell = shared.cell();
            cell.end(outcome.as_ref().err().map(FlowError::for_counterparty));
            drain(flow, &mut cell, out);
            cell.all_peers()
        };
        // Values held by a flow may panic when they are dropped; the outcome stands.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(future)));
        if chart.is_some() {
            out.push(EngineAction::Chart { flow, row: None });
        }
        if rows > 0 {
            out.push(EngineAction::Forget { flow, steps: rows });
        }
        out.push(EngineAction::Ended {
            flow,
            start: Some(Box::new(start)),
            peers,
            outcome,
        });
    }
}

impl Running {
    /// Polls the flow; a panic becomes its failure.
    pub(super) fn poll_once(&mut self) -> Poll<Result<Vec<u8>, FlowError>> {
        self.shared.cell().awaits_origin = false;
        let mut task = Context::from_waker(Waker::noop());
        let future = &mut self.future;
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut task))) {
            Ok(Poll::Pending) => {
                self.shared.cell().close_dropped();
                Poll::Pending
            }
            Ok(Poll::Ready(outcome)) => Poll::Ready(outcome.map_err(FlowError::journaled)),
            Err(panic) => {
                self.panicked = true;
                Poll::Ready(Err(FlowError::panicked("the flow", &*panic)))
            }
        }
    }
}

/// Converts the outputs of a flow into actions.
pub(super) fn drain(flow: FlowId, cell: &mut Cell, out: &mut Vec<EngineAction>) {
    out.extend(cell.outputs.drain(..).map(|output| match output {
        Output::Effect { effect, request } => EngineAction::Effect {
            flow,
            effect,
            request,
        },
        Output::Cancel { effect } => EngineAction::Cancel { flow, effect },
        Output::Send { peer, message } => EngineAction::SendSession { peer, message },
        Output::Progress { step } => EngineAction::Progress { flow, step },
    }));
}
