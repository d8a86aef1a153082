//! The look-ups of flows in the vault view: versions of linear states, and whether the states that they lock are consumed.
//!
//! The view answers after everything that it was fed before the question. An answer therefore shows everything that was recorded
//! before the request.

use std::collections::BTreeMap;

use flow::FlowId;
use ledger::StateRef;

use crate::flows::waits::EffectId;

/// The use of an answer.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// The answer goes to the flow.
    Linear,
    /// These states are locked; the second list are those that this effect locked.
    Lock(Vec<StateRef>, Vec<StateRef>),
}

/// Look-ups in progress. Bounded by the effects that live flows may have in flight.
#[derive(Debug, Default)]
pub(crate) struct LookUps {
    pub(super) asked: BTreeMap<EffectId, Asked>,
}

impl LookUps {
    /// Gives up an effect. Its locks are released when the flow ends.
    pub(crate) fn cancel(&mut self, effect: EffectId) {
        self.asked.remove(&effect);
    }

    /// Forgets the look-ups of a flow that has ended.
    pub(crate) fn cancel_flow(&mut self, flow: FlowId) {
        let last = (flow, u32::MAX);
        while let Some((effect, _)) = self.asked.range((flow, 0)..=last).next() {
            self.cancel(*effect);
        }
    }
}
