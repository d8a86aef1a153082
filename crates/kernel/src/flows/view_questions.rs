//! The questions of flows to the vault view, and its answers.

use flow::EffectResult;
use ledger::{StateAndRef, StateRef};
use vault::SelectionError;

use crate::command::SelectionCommand;
use crate::context::Context;
use crate::event::{Action, Found, LookUp};
use crate::flows::Flows;
use crate::flows::look_ups::Asked;
use crate::flows::views::FlowViews;
use crate::flows::waits::EffectId;
use crate::port::StoreFailure;
use crate::selection::failed;

impl Flows {
    /// Locks states at once, so that no other flow gets them. Returns the failure if one is not in the ledger: then none is locked.
    pub(super) fn on_lock(
        &mut self,
        effect: EffectId,
        states: Vec<StateRef>,
        views: FlowViews<'_>,
        context: &mut Context,
    ) -> Result<Option<EffectResult>, StoreFailure> {
        let known = views.states(states.clone())?;
        if let Err(failed) = known {
            return Ok(Some(failed));
        }
        context.command(SelectionCommand::Lock { effect, states });
        Ok(None)
    }

    /// Asks whether states that are locked now are unconsumed.
    pub(super) fn on_locked(
        &mut self,
        effect: EffectId,
        states: Vec<StateRef>,
        locked: Vec<StateRef>,
        context: &mut Context,
    ) {
        let what = LookUp::Consumed(states.clone());
        self.ask_view(effect, what, Asked::Lock(states, locked), context);
    }

    pub(super) fn ask_view(
        &mut self,
        effect: EffectId,
        what: LookUp,
        asked: Asked,
        context: &mut Context,
    ) {
        self.look_ups.asked.insert(effect, asked);
        let (flow, effect) = effect;
        context.act(Action::LookUp { flow, effect, what });
    }

    /// Handles an answer of the view.
    pub(super) fn on_looked_up(
        &mut self,
        effect: EffectId,
        found: Found,
        views: FlowViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let result = match (self.look_ups.asked.remove(&effect), found) {
            (Some(Asked::Linear), Found::States(states)) => views.versions(states),
            (Some(Asked::Lock(_, locked)), Found::Consumed(Some(state))) => {
                let (flow, states) = (effect.0, locked);
                context.command(SelectionCommand::Unlock { flow, states });
                failed(&SelectionError::StateConsumed { state })
            }
            (Some(Asked::Lock(refs, _)), Found::Consumed(None)) => {
                let found = views.states(refs)?;
                found.map_or_else(|failed| failed, EffectResult::States)
            }
            // Given up meanwhile.
            _ => return Ok(()),
        };
        context.complete(effect, result);
        Ok(())
    }
}

impl FlowViews<'_> {
    /// Returns the versions of a linear state that can be consumed. If all are in quarantine, the flow gets an error that says so.
    fn versions(self, mut states: Vec<StateAndRef>) -> EffectResult {
        let first = states.first().map(|state| state.reference);
        states.retain(|state| !self.selection.is_quarantined(&state.reference));
        match first {
            Some(state) if states.is_empty() => failed(&SelectionError::StateQuarantined { state }),
            _ => EffectResult::States(states),
        }
    }
}
