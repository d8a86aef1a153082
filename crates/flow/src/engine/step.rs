//! A step of a flow: one poll, on any thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::flow_state::FlowState;
use crate::registry::FlowFuture;
use crate::{FlowError, FlowId};

/// A flow that is ready for its next step. The step depends on nothing but the flow, so the steps of several flows may run at the
/// same time, on any threads.
pub struct FlowStep {
    pub(super) flow: FlowId,
    pub(super) future: FlowFuture,
    pub(super) shared: Arc<FlowState>,
    /// The number of its outputs before the step.
    pub(super) outputs: usize,
}

/// A flow after a step. The engine takes it back with [`FlowEngine::stepped`](crate::FlowEngine::stepped).
pub struct FlowStepped {
    pub(super) flow: FlowId,
    pub(super) future: FlowFuture,
    pub(super) outputs: usize,
    pub(super) result: StepResult,
}

/// The result of a step.
pub(super) enum StepResult {
    /// The flow waits for its next input.
    Waits,
    /// The flow has ended.
    Ended(Result<Vec<u8>, FlowError>),
    /// The flow's code panicked.
    Panicked(FlowError),
}

impl FlowStep {
    /// Runs the step. A panic of the flow's code is contained.
    #[must_use]
    pub fn run(self) -> FlowStepped {
        let Self {
            flow,
            mut future,
            shared,
            outputs,
        } = self;
        let result = poll_once(&mut future, &shared);
        FlowStepped {
            flow,
            future,
            outputs,
            result,
        }
    }
}

/// Polls a flow once.
pub(super) fn poll_once(future: &mut FlowFuture, shared: &FlowState) -> StepResult {
    shared.cell().awaits_origin = false;
    let mut task = Context::from_waker(Waker::noop());
    match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut task))) {
        Ok(Poll::Pending) => {
            shared.cell().close_dropped();
            StepResult::Waits
        }
        Ok(Poll::Ready(outcome)) => StepResult::Ended(outcome.map_err(FlowError::journaled)),
        Err(panic) => StepResult::Panicked(FlowError::panicked("the flow", &*panic)),
    }
}
