//! Flows of the store that come back after a start.

use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};
use flow::{FlowId, Kill};

/// Flows that come back before the node is up: few enough to delay no start noticeably.
const AT_ONCE_MAX: usize = 64;
/// Flows that come back in one round.
const WAKES_A_ROUND_MAX: usize = 64;

impl Kernel {
    /// Whether a flow can come back now.
    pub(crate) fn can_wake(&self) -> bool {
        self.waking.next(|flow| self.is_readable(flow)).is_some()
    }

    /// Brings flows back, as many as a round may.
    pub(crate) fn wake(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.wake_some(WAKES_A_ROUND_MAX, reads)
    }

    /// Brings the first flows back while the node opens: with few in the store that is all of them.
    pub(crate) fn wake_first(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.wake_some(AT_ONCE_MAX, reads)
    }

    fn wake_some(&mut self, count: usize, reads: &dyn Reads) -> Result<(), StoreFailure> {
        for _ in 0..count {
            let Some(flow) = self.waking.next(|flow| self.is_readable(flow)) else {
                break;
            };
            self.wake_one(flow, reads)?;
        }
        Ok(())
    }

    fn wake_one(&mut self, flow: FlowId, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.waking.woken(&flow);
        self.gate.forget(&flow);
        self.bring_back(flow, reads)?;
        if self.runner.engine().is_kill_asked(&flow) {
            self.runner.kill(flow, &mut self.context);
        }
        self.settle(reads)
    }

    /// An operator lets a flow come back that waits for that; whether it is one.
    pub(crate) fn release_shelved(&mut self, flow: FlowId) -> bool {
        let is_shelved = self.waking.is_shelved(&flow);
        self.gate.forget(&flow);
        self.waking.release(flow);
        is_shelved
    }

    /// Kills a flow in any stage. A shelved flow is brought back first, so that its requests to a notary are known. It takes no
    /// step.
    pub(crate) fn kill_flow(
        &mut self,
        flow: FlowId,
        reads: &dyn Reads,
    ) -> Result<Kill, StoreFailure> {
        if self.waking.is_shelved(&flow) {
            if !self.is_readable(&flow) {
                // Something that came for it is being written: it is killed as soon as it comes back.
                let killed = self.runner.kill(flow, &mut self.context);
                return Ok(killed);
            }
            self.waking.woken(&flow);
            self.gate.forget(&flow);
            self.bring_back(flow, reads)?;
        }
        let killed = self.runner.kill(flow, &mut self.context);
        Ok(killed)
    }
}
