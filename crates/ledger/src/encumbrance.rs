//! Encumbrances: outputs that can only be consumed together.

use std::collections::{BTreeMap, BTreeSet};

use crate::{StateAndRef, TransactionState, TxId};

/// Checks that encumbered outputs form rings: each names another output, no two name the same, and the output named is
/// encumbered too. So nobody can consume a part of a ring and leave the rest locked for ever. Returns the index of the
/// first output that breaks this.
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

/// An encumbered input whose encumbrance is not consumed with it.
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
