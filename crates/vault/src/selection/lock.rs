//! Locks on states that a flow names itself.

use ledger::StateRef;

use super::Selection;
use super::holdings::{Holder, Slot};
use crate::{FlowKey, SelectionError};

impl Selection {
    /// Locks states for a flow, all or none, at once; what the flow holds already stays its own. Whoever calls it knows
    /// that they were not consumed long ago: only what is about to be consumed is known here.
    ///
    /// # Errors
    /// Another flow holds one of them, a recorded transaction consumes one, or they are too many. Nothing is locked then.
    pub fn lock(&mut self, flow: FlowKey, refs: &[StateRef]) -> Result<(), SelectionError> {
        let states_max = self.options.states_per_selection_max;
        if refs.len() > states_max {
            let wanted = refs.len();
            return Err(SelectionError::TooManyLocks { wanted, states_max });
        }
        for state in refs {
            self.check_lockable(&flow, *state)?;
        }
        for reference in refs {
            match self.holdings.get(reference) {
                None => self.holdings.hold(*reference, Holder::Flow(flow), None),
                Some(Slot::Free {
                    token,
                    pool,
                    position,
                }) => {
                    let (token, pool, position) = (*token, *pool, *position);
                    let row = self.remove_free(token, pool, &position);
                    self.hold(Holder::Flow(flow), token, pool, *reference, row);
                }
                // The flow's own: named twice, or held before.
                Some(Slot::Held { .. }) => {}
            }
        }
        Ok(())
    }

    fn check_lockable(&self, flow: &FlowKey, state: StateRef) -> Result<(), SelectionError> {
        if self.quarantined.contains(&state) || self.consumed.contains(&state) {
            return Err(SelectionError::StateConsumed { state });
        }
        match self.holdings.get(&state) {
            Some(Slot::Held {
                by: Holder::Ledger, ..
            }) => Err(SelectionError::StateConsumed { state }),
            Some(Slot::Held {
                by: Holder::Flow(holder),
                ..
            }) if holder != flow => Err(SelectionError::StateLocked { state }),
            _ => Ok(()),
        }
    }
}
