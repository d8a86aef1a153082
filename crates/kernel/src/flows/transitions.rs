//! The effects of flows on transitions of states: planned for flows of this node.

use flow::{EffectResult, FlowError};
use ledger::{Rejection, StateRef, TransitionGoal, TransitionPlan, TxId};
use primitives::Encode;
use primitives::collections::HashMap;

use crate::context::Context;
use crate::flows::views::FlowViews;
use crate::port::StoreFailure;

impl FlowViews<'_> {
    /// Plans a transition of recorded states.
    pub(super) fn plan(
        self,
        states: Vec<StateRef>,
        goal: &TransitionGoal,
        context: &Context,
    ) -> Result<EffectResult, StoreFailure> {
        let inputs = match self.states(states)? {
            Ok(inputs) => inputs,
            Err(failed) => return Ok(failed),
        };
        let mut origins = HashMap::default();
        for input in &inputs {
            if let Some(recorded) = self.book.get(&input.reference.tx, self.reads)? {
                let attachments = recorded.transaction.wire().attachments();
                origins.insert(input.reference.tx, attachments.to_vec());
            }
        }
        let contracts = &*context.identity.contracts;
        let origin = |id: &TxId| origins.get(id).cloned();
        Ok(
            match TransitionPlan::new(goal, &inputs, origin, contracts) {
                Ok(plan) => EffectResult::External(plan.to_bytes()),
                Err(error) => {
                    EffectResult::Failed(FlowError::from_rejection(Rejection::of(&error)))
                }
            },
        )
    }
}
