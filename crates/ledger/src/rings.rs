//! Rings of encumbered outputs.

use std::collections::BTreeSet;

use crate::TransactionState;

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
