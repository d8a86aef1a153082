//! The questions of flows to the vault view, and its answers.

use crate::event::{Action, Found, LookUp};
use crate::flows::look_ups::Asked;
use crate::flows::waits::EffectId;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};
use flow::{EffectResult, FlowError};
use ledger::{ContractName, Rejection, StateAndRef, StateRef};
use primitives::Hash;
use vault::SelectionError;

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
        self.flows.look_ups.asked.insert(effect, asked);
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
        let result = match (self.flows.look_ups.asked.remove(&effect), found) {
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
