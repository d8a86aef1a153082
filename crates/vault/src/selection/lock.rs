//! Locks on states that a flow names itself.

use std::collections::BTreeSet;

use ledger::StateRef;
use primitives::Monotonic;

use super::Selection;
use super::holdings::{Holder, Slot};
use crate::{FlowKey, Lock, SelectionError, SelectionOutput};

impl Selection {
    /// Locks all the given states for a flow, or none of them. States that the flow holds already stay locked for it. Returns
    /// the newly locked ones. The caller checks that no transaction consumed the states earlier: the selection knows only
    /// recent and imminent consumption.
    ///
    /// # Errors
    /// Another flow holds one of them, a recorded transaction consumes one, or there are too many of them. Nothing is locked
    /// then.
    pub fn lock(
        &mut self,
        flow: FlowKey,
        refs: &[StateRef],
    ) -> Result<Vec<StateRef>, SelectionError> {
        let states_max = self.options.states_per_selection_max;
        if refs.len() > states_max {
            let wanted = refs.len();
            return Err(SelectionError::TooManyLocks { wanted, states_max });
        }
        for state in refs {
            self.check_lockable(&flow, *state)?;
        }
        let mut locked = Vec::new();
        for reference in refs {
            if self
                .holdings
                .get(reference)
                .is_none_or(|slot| matches!(slot, Slot::Free { .. }))
            {
                locked.push(*reference);
            }
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
        Ok(locked)
    }

    /// Returns at most `limit` of the states that the flows in `of` hold, or all flows if it is `None`, and whether there are
    /// more. States that a recorded transaction consumes have no holder and are left out. The cost is proportional to the
    /// result.
    pub fn locks(&self, of: Option<&[FlowKey]>, limit: usize) -> (Vec<Lock>, bool) {
        let mut found = self.holdings.locks(of);
        let locks = found.by_ref().take(limit).collect();
        (locks, found.next().is_some())
    }

    /// Releases states that a flow has locked.
    pub fn unlock(
        &mut self,
        flow: FlowKey,
        refs: &[StateRef],
        now: Monotonic,
    ) -> Vec<SelectionOutput> {
        for reference in refs {
            let holder = Holder::Flow(flow);
            let is_held = self.holdings.get(reference);
            if is_held.is_some_and(|slot| matches!(slot, Slot::Held { by, .. } if *by == holder)) {
                self.free_held(reference);
            }
        }
        self.finish(now)
    }

    /// Restores a flow from its journal: of its locked states it keeps these; the others become free, and its waiting requests
    /// are dropped.
    pub fn keep_only(
        &mut self,
        flow: FlowKey,
        refs: &[StateRef],
        now: Monotonic,
    ) -> Vec<SelectionOutput> {
        let kept: BTreeSet<&StateRef> = refs.iter().collect();
        for (token, place) in self.holdings.waits_of(&flow) {
            self.leave(token, place);
            self.touch(token);
        }
        for reference in self.holdings.refs_of(&flow) {
            if !kept.contains(&reference)
                && let Some(Slot::Held {
                    coin: Some(coin), ..
                }) = self.holdings.remove(&reference)
            {
                self.unhold(&coin);
                self.take_in(coin.token, coin.row);
            }
        }
        self.restore_lock(flow, refs);
        self.finish(now)
    }

    fn check_lockable(&self, flow: &FlowKey, state: StateRef) -> Result<(), SelectionError> {
        if self.quarantined.contains(&state) {
            return Err(SelectionError::StateQuarantined { state });
        }
        if self.consumed.contains(&state) {
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
