//! Creating flows, their steps, and their ends.
//!
//! # Invariants
//! - Each input of a flow is followed by a step of its own, because a replay polls the flow after each input.
//! - No round ends with a flow that is ready, so a row of the journal ends with a step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::actions::EngineAction;
use super::flow_engine::{FlowEngine, Live, Running};
use super::step::{FlowStep, FlowStepped, StepResult};
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
            future: Some(future),
            shared,
            rows: 0,
            ready: false,
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

    /// Notes that a flow got an input. Its next step is due within the round.
    pub(super) fn make_ready(&mut self, flow: FlowId) {
        let Some(Live::Running(running)) = self.flows.get_mut(&flow) else {
            return;
        };
        assert!(
            !running.ready,
            "flow {flow} got an input before its step for the last one"
        );
        running.ready = true;
        self.ready.push(flow);
        if !running.touched {
            running.touched = true;
            self.touched.push(flow);
        }
    }

    /// Takes the steps of all flows that are ready, in the order of their inputs. Each must be [run](FlowStep::run) and passed to
    /// [`stepped`](FlowEngine::stepped) before any other call.
    pub fn take_ready(&mut self) -> Vec<FlowStep> {
        let ready = std::mem::take(&mut self.ready);
        let steps = ready.into_iter().filter_map(|flow| self.take_step(flow));
        steps.collect()
    }

    /// Returns the number of inputs whose steps are due, or more: steps that a later input has caused already are counted too.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Runs the steps of all flows that are ready, one after another.
    pub fn run_ready(&mut self, out: &mut Vec<EngineAction>) {
        for step in self.take_ready() {
            self.stepped(step.run(), out);
        }
    }

    /// Runs the step of a flow at once if it is due, because the next input needs its result.
    pub(super) fn catch_up(&mut self, flow: FlowId, out: &mut Vec<EngineAction>) {
        if let Some(step) = self.take_step(flow) {
            self.stepped(step.run(), out);
        }
    }

    fn take_step(&mut self, flow: FlowId) -> Option<FlowStep> {
        let Some(Live::Running(running)) = self.flows.get_mut(&flow) else {
            return None;
        };
        // The list may name a flow whose step was run already.
        if !std::mem::take(&mut running.ready) {
            return None;
        }
        running.since = self.now;
        running.stepped = self.monotonic;
        let outputs = {
            let mut cell = running.shared.cell();
            cell.now = self.now;
            cell.outputs.len()
        };
        let future = running.future.take();
        Some(FlowStep {
            flow,
            future: future.expect("no other step of the flow is taken"),
            shared: Arc::clone(&running.shared),
            outputs,
        })
    }

    /// Takes the result of a step.
    pub fn stepped(&mut self, stepped: FlowStepped, out: &mut Vec<EngineAction>) {
        let FlowStepped {
            flow,
            future,
            outputs,
            result,
        } = stepped;
        let Some(Live::Running(running)) = self.flows.get_mut(&flow) else {
            panic!("flow {flow} does not run, and took a step");
        };
        assert!(
            running.future.is_none() && !running.ready,
            "flow {flow} took a step that was not due"
        );
        running.future = Some(future);
        let is_responder = running.start.origin.is_some();
        let outcome = match result {
            StepResult::Waits => {
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
                return;
            }
            StepResult::Ended(outcome) => outcome,
            StepResult::Panicked(error) => {
                running.panicked = true;
                Err(error)
            }
        };
        let outcome = outcome.map_err(FlowError::of_unkilled);
        let Some(Live::Running(running)) = self.flows.get(&flow) else {
            return;
        };
        let failure = outcome.as_ref().err();
        match failure.and_then(|error| Some((error, self.verdict(running, error)?))) {
            Some((error, condition)) => {
                self.set_aside(flow, condition, error, outputs, out);
            }
            None => self.finish(flow, outcome, out),
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
