//! Encumbrances: outputs that can only be consumed together.

use std::collections::{BTreeMap, BTreeSet};

use crate::{StateAndRef, StateRef, TxId, WireTransaction};

impl WireTransaction {
    /// Returns an output and all those that can only be consumed together with it, the output first. Returns only the output if
    /// nothing encumbers it, and nothing if there is no such output or its ring does not close.
    pub fn ring(&self, index: u32) -> Vec<StateAndRef> {
        let mut ring: Vec<StateAndRef> = Vec::new();
        let mut next = Some(index);
        while let Some(at) = next {
            let Some(state) = self.output(at as usize) else {
                return Vec::new();
            };
            if ring.len() >= self.outputs().len() {
                return Vec::new();
            }
            next = state.encumbrance.filter(|next| *next != index);
            let reference = StateRef::new(self.id(), at);
            let state = state.clone();
            ring.push(StateAndRef { state, reference });
        }
        ring
    }
}

/// Returns the first encumbered input whose encumbrance is not consumed with it.
pub(crate) fn find_separated(inputs: &[StateAndRef]) -> Option<&StateAndRef> {
    if inputs.iter().all(|input| input.state.encumbrance.is_none()) {
        return None;
    }
    let mut consumed: BTreeMap<TxId, BTreeSet<u32>> = BTreeMap::new();
    for input in inputs {
        consumed
            .entry(input.reference.tx)
            .or_default()
            .insert(input.reference.index);
    }
    inputs.iter().find(|input| {
        input.state.encumbrance.is_some_and(|next| {
            !consumed
                .get(&input.reference.tx)
                .is_some_and(|indices| indices.contains(&next))
        })
    })
}
