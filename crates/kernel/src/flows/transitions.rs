//! The effects of flows on transitions of states: planned for flows of this node, and agreed to for others.

use std::collections::HashMap;

use flow::{EffectResult, FlowError};
use ledger::{PartyId, Rejection, StateRef, Transition, TransitionGoal, TransitionPlan};
use primitives::Encode;

use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};

impl Kernel {
    /// Plans a transition of recorded states.
    pub(crate) fn on_plan(
        &mut self,
        states: Vec<StateRef>,
        goal: &TransitionGoal,
        reads: &dyn Reads,
    ) -> Result<EffectResult, StoreFailure> {
        Ok(match self.look_up(states, reads)? {
            EffectResult::States(inputs) => {
                let mut origins = HashMap::new();
                for input in &inputs {
                    if let Some(recorded) = self.book.get(&input.reference.tx, reads)? {
                        let attachments = recorded.transaction.wire().attachments();
                        origins.insert(input.reference.tx, attachments.to_vec());
                    }
                }
                let contracts = &*self.context.identity.contracts;
                let origin = |id: &ledger::TxId| origins.get(id).cloned();
                match TransitionPlan::new(goal, &inputs, origin, contracts) {
                    Ok(plan) => EffectResult::External(plan.to_bytes()),
                    Err(error) => {
                        EffectResult::Failed(FlowError::from_rejection(Rejection::of(&error)))
                    }
                }
            }
            failed => failed,
        })
    }

    /// Decides whether this node signs a transition that a peer proposes.
    pub(crate) fn on_consent(
        &mut self,
        transition: &Transition,
        states: Vec<StateRef>,
        from: &PartyId,
        reads: &dyn Reads,
    ) -> Result<EffectResult, StoreFailure> {
        Ok(match self.look_up(states, reads)? {
            EffectResult::States(inputs) => {
                let owners = self.keys.owners(&self.context, reads);
                let agreed = self.consents.agree_to(transition, &inputs, from, &owners)?;
                agreed.map_or_else(EffectResult::Failed, |()| EffectResult::Done)
            }
            failed => failed,
        })
    }
}
