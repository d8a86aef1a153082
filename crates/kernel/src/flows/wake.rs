//! Restores the flows of the store after a start.

use flow::{FlowId, Kill};

use crate::context::Context;
use crate::flows::Flows;
use crate::port::{Reads, StoreFailure};

impl Flows {
    /// Returns the flow to restore next, if one can be restored now.
    pub(crate) fn next_to_wake(&self, context: &Context) -> Option<FlowId> {
        self.waking.next(|flow| self.is_readable(flow, context))
    }

    /// Brings a flow of the store back.
    pub(crate) fn wake(
        &mut self,
        flow: FlowId,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        assert!(
            self.is_readable(&flow, context),
            "flow {flow} comes back before its journal is durable"
        );
        self.waking.woken(&flow);
        self.leave_gate(flow);
        self.bring_back(flow, context, reads)
    }

    /// Kills a restored flow, if that was ordered while it was shelved.
    pub(crate) fn kill_if_asked(&mut self, flow: FlowId, context: &mut Context) {
        if self.runner.engine().is_kill_asked(&flow) {
            self.runner.kill(flow, context);
        }
    }

    /// Lets a shelved flow be restored by an operator's order. Returns whether it was shelved.
    pub(super) fn release_shelved(&mut self, flow: FlowId) -> bool {
        let is_shelved = self.waking.is_shelved(&flow);
        self.leave_gate(flow);
        self.waking.release(flow);
        is_shelved
    }

    /// Restores a shelved flow that is to be killed, so that its requests to a notary are known. It does not run. If its journal is
    /// still being written, it is killed as soon as it is restored.
    pub(super) fn wake_to_kill(
        &mut self,
        flow: FlowId,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if self.waking.is_shelved(&flow) && self.is_readable(&flow, context) {
            self.wake(flow, context, reads)?;
        }
        Ok(())
    }

    /// Kills a flow in any stage.
    pub(crate) fn kill(&mut self, flow: FlowId, context: &mut Context) -> Kill {
        self.runner.kill(flow, context)
    }
}
