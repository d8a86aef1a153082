//! The look-ups of flows in the vault view: versions of linear states, and whether the states that they lock are consumed.
//!
//! The view answers after everything that it was fed before the question. An answer therefore shows everything that was recorded
//! before the request.

use std::collections::BTreeMap;

use flow::{EffectResult, FlowError, FlowId};
use ledger::{ContractName, Rejection, StateAndRef, StateRef};
use primitives::Hash;
use vault::SelectionError;

use crate::event::{Action, Found, LookUp};
use crate::flows::waits::EffectId;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};

/// The use of an answer.
#[derive(Clone, Debug)]
enum Asked {
    /// It is the flow's.
    Linear,
    /// These states are locked; the second list are those that this effect locked.
    Lock(Vec<StateRef>, Vec<StateRef>),
}

/// Questions on their way; bounded by the effects that live flows may have outstanding.
#[derive(Debug, Default)]
pub(crate) struct LookUps {
    asked: BTreeMap<EffectId, Asked>,
}

impl LookUps {
    /// Gives up an effect. Its locks are released when the flow ends.
    pub(crate) fn cancel(&mut self, effect: EffectId) {
        self.asked.remove(&effect);
    }

    /// A flow ended.
    pub(crate) fn cancel_flow(&mut self, flow: FlowId) {
        let last = (flow, u32::MAX);
        while let Some((effect, _)) = self.asked.range((flow, 0)..=last).next() {
            self.cancel(*effect);
        }
    }
}

impl Kernel {
    pub(crate) fn on_linear(&mut self, effect: EffectId, contract: ContractName, id: Hash) {
        self.ask_view(effect, LookUp::Linear { contract, id }, Asked::Linear);
    }

    /// Locks states at once, so that no other flow gets them, and asks whether they are unconsumed.
    pub(crate) fn on_lock(
        &mut self,
        effect: EffectId,
        refs: Vec<StateRef>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let (flow, number) = effect;
        // States that are not in the ledger are not kept locked.
        let known = self.look_up(refs.clone(), reads)?;
        if !matches!(known, EffectResult::States(_)) {
            self.complete(flow, number, known);
            return Ok(());
        }
        match self.selection.lock(flow.0, &refs) {
            Ok(locked) => {
                let what = LookUp::Consumed(refs.clone());
                self.ask_view(effect, what, Asked::Lock(refs, locked));
            }
            Err(error) => self.complete(flow, number, failed(&error)),
        }
        Ok(())
    }

    fn ask_view(&mut self, effect: EffectId, what: LookUp, asked: Asked) {
        self.look_ups.asked.insert(effect, asked);
        let (flow, effect) = effect;
        self.context
            .round
            .then
            .push(Action::LookUp { flow, effect, what });
    }

    pub(crate) fn on_looked_up(
        &mut self,
        effect: EffectId,
        found: Found,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let (flow, number) = effect;
        let result = match (self.look_ups.asked.remove(&effect), found) {
            (Some(Asked::Linear), Found::States(states)) => self.versions(states),
            (Some(Asked::Lock(_, locked)), Found::Consumed(Some(state))) => {
                let out = self
                    .selection
                    .unlock(flow.0, &locked, self.context.now.monotonic);
                self.on_selection(out);
                failed(&SelectionError::StateConsumed { state })
            }
            (Some(Asked::Lock(refs, _)), Found::Consumed(None)) => self.look_up(refs, reads)?,
            // Given up meanwhile.
            _ => return Ok(()),
        };
        self.complete(flow, number, result);
        Ok(())
    }
}

impl Kernel {
    /// Returns the versions of a linear state that can be consumed. If all are in quarantine, the flow is told so.
    fn versions(&self, mut states: Vec<StateAndRef>) -> EffectResult {
        let first = states.first().map(|state| state.reference);
        states.retain(|state| !self.selection.is_quarantined(&state.reference));
        match first {
            Some(state) if states.is_empty() => failed(&SelectionError::StateQuarantined { state }),
            _ => EffectResult::States(states),
        }
    }
}

fn failed(error: &SelectionError) -> EffectResult {
    EffectResult::Failed(FlowError::from_rejection(Rejection::of(error)))
}
