//! Encumbrances: outputs that can only be consumed together.

use std::collections::{BTreeMap, BTreeSet};

use crate::{StateAndRef, StateRef, TransactionState, TxId, WireTransaction};

/// Checks that encumbered outputs form rings: each names another output, no two name the same, and the output named is
/// encumbered too. So no transaction can consume a part of a ring and leave the rest locked permanently. Returns the index
/// of the first output that breaks this rule.
pub(crate) fn check_rings(outputs: &[TransactionState]) -> Result<(), u32> {
    if outputs.iter().all(|output| output.encumbrance.is_none()) {
        return Ok(());
    }
    let mut named = BTreeSet::new();
    for (index, output) in (0u32..).zip(outputs) {
        let Some(next) = output.encumbrance else {
            continue;
        };
        let is_encumbered = outputs
            .get(next as usize)
            .is_some_and(|other| other.encumbrance.is_some());
        if next == index || !is_encumbered || !named.insert(next) {
            return Err(index);
        }
    }
    Ok(())
}

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
