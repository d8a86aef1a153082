//! The place of each known state: free in a pool, or held by a flow.

use std::collections::BTreeSet;

use ledger::{StateRef, TokenId};
use primitives::collections::HashMap;

use super::line::Place;
use crate::{CoinPosition, CoinRow, FlowKey, Lock};

/// The holder that keeps a state from being selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// A flow that selected it.
    Flow(FlowKey),
    /// A recorded transaction that is not durable yet.
    Ledger,
}

/// A held coin with known contents.
pub(super) struct HeldCoin {
    pub(super) token: TokenId,
    pub(super) pool: usize,
    pub(super) row: Box<CoinRow>,
}

/// The place of a state.
pub(super) enum Slot {
    /// Free, in a purse.
    Free {
        token: TokenId,
        pool: usize,
        position: CoinPosition,
    },
    /// Not to be selected. A lock restored at the start knows its coin only once the view has shown it.
    Held { by: Holder, coin: Option<HeldCoin> },
}

/// The held states and waiting places of a flow.
#[derive(Default)]
pub(super) struct FlowHolds {
    pub(super) refs: BTreeSet<StateRef>,
    pub(super) waits: BTreeSet<(TokenId, Place)>,
}

/// The holders of all known states.
#[derive(Default)]
pub(super) struct Holdings {
    slots: HashMap<StateRef, Slot>,
    flows: HashMap<FlowKey, FlowHolds>,
    held: usize,
}

impl Holdings {
    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn get(&self, reference: &StateRef) -> Option<&Slot> {
        self.slots.get(reference)
    }

    pub(super) fn get_mut(&mut self, reference: &StateRef) -> Option<&mut Slot> {
        self.slots.get_mut(reference)
    }

    pub(super) fn free(
        &mut self,
        reference: StateRef,
        token: TokenId,
        pool: usize,
        position: CoinPosition,
    ) {
        let slot = Slot::Free {
            token,
            pool,
            position,
        };
        self.slots.insert(reference, slot);
    }

    /// Notes a state as held; it was free or unknown before.
    pub(super) fn hold(&mut self, reference: StateRef, by: Holder, coin: Option<HeldCoin>) {
        self.held += 1;
        if let Holder::Flow(flow) = by {
            self.flows.entry(flow).or_default().refs.insert(reference);
        }
        self.slots.insert(reference, Slot::Held { by, coin });
    }

    /// Passes a held state from a flow to the ledger.
    pub(super) fn pass_to_ledger(&mut self, reference: &StateRef) {
        if let Some(Slot::Held { by, .. }) = self.slots.get_mut(reference)
            && let Holder::Flow(flow) = std::mem::replace(by, Holder::Ledger)
        {
            self.drop_ref(&flow, reference);
        }
    }

    pub(super) fn remove(&mut self, reference: &StateRef) -> Option<Slot> {
        let slot = self.slots.remove(reference)?;
        if let Slot::Held { by, .. } = &slot {
            self.held -= 1;
            if let Holder::Flow(flow) = by {
                self.drop_ref(flow, reference);
            }
        }
        Some(slot)
    }

    fn drop_ref(&mut self, flow: &FlowKey, reference: &StateRef) {
        if let Some(holds) = self.flows.get_mut(flow) {
            holds.refs.remove(reference);
            if holds.refs.is_empty() && holds.waits.is_empty() {
                self.flows.remove(flow);
            }
        }
    }

    pub(super) fn holds_something(&self, flow: &FlowKey) -> bool {
        self.flows
            .get(flow)
            .is_some_and(|holds| !holds.refs.is_empty())
    }

    pub(super) fn wait(&mut self, flow: FlowKey, token: TokenId, place: Place) {
        let holds = self.flows.entry(flow).or_default();
        holds.waits.insert((token, place));
    }

    pub(super) fn end_wait(&mut self, flow: &FlowKey, token: TokenId, place: Place) {
        if let Some(holds) = self.flows.get_mut(flow) {
            holds.waits.remove(&(token, place));
            if holds.refs.is_empty() && holds.waits.is_empty() {
                self.flows.remove(flow);
            }
        }
    }

    /// Returns the states that a flow holds.
    pub(super) fn refs_of(&self, flow: &FlowKey) -> Vec<StateRef> {
        let holds = self.flows.get(flow);
        holds.map_or_else(Vec::new, |holds| holds.refs.iter().copied().collect())
    }

    /// Returns the states that the flows in `of` hold, or all flows if it is `None`, in unspecified order.
    pub(super) fn locks<'a>(
        &'a self,
        of: Option<&'a [FlowKey]>,
    ) -> impl Iterator<Item = Lock> + 'a {
        // Without names, `all` lists every flow.
        let named = of.unwrap_or_default().iter();
        let named = named.filter_map(|flow| self.flows.get_key_value(flow));
        let all = self.flows.iter().filter(move |_| of.is_none());
        named.chain(all).flat_map(|(flow, holds)| {
            holds.refs.iter().map(|state| Lock {
                state: *state,
                by: *flow,
                seq: match self.slots.get(state) {
                    Some(Slot::Held {
                        coin: Some(coin), ..
                    }) => Some(coin.row.seq),
                    _ => None,
                },
            })
        })
    }

    /// Returns the waiting places of a flow.
    pub(super) fn waits_of(&self, flow: &FlowKey) -> Vec<(TokenId, Place)> {
        let holds = self.flows.get(flow);
        holds.map_or_else(Vec::new, |holds| holds.waits.iter().copied().collect())
    }

    /// Returns everything that a flow holds and waits for. The states stay recorded as held until they are removed one by one.
    pub(super) fn take_flow(&mut self, flow: &FlowKey) -> Option<FlowHolds> {
        self.flows.remove(flow)
    }
}
