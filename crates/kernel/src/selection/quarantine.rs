//! Quarantine: unconsumed states of the vault that their notary reports as consumed elsewhere.
//!
//! # Invariants
//! - The selection holds the set, the store one row for each member. A state enters both in one round, and leaves them in the
//!   round that records its consumer.
//! - The vault view hears of a state after its row is durable. A view that starts takes over the rows of the store.

use ledger::StateRef;
use vault::Selection;

use crate::context::Context;
use crate::event::Action;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{META_QUARANTINE, meta_key, prefix_end, state_ref_key, state_ref_of};
use crate::writes::{RowRange, Writer};

/// Returns the states in quarantine that the store knows, at most `limit`.
///
/// # Errors
/// The store could not be read.
pub fn quarantined_states(reads: &dyn Reads, limit: usize) -> Result<Vec<StateRef>, StoreFailure> {
    let to = prefix_end(META_QUARANTINE);
    let rows = reads.scan(Table::Meta, META_QUARANTINE, to.as_deref(), limit)?;
    let keys = rows
        .iter()
        .filter_map(|(key, _)| key.get(META_QUARANTINE.len()..));
    Ok(keys.filter_map(state_ref_of).collect())
}

/// The rows of states in quarantine. The states themselves are in the coin selection.
pub(crate) struct Quarantine;

impl Writer for Quarantine {
    const ROWS: &'static [RowRange] = &[RowRange::meta(META_QUARANTINE)];
}

impl Quarantine {
    /// Writes the row of a state that the selection has put into quarantine, and tells the view and the operator.
    pub(super) fn begin(selection: &Selection, input: StateRef, context: &mut Context) {
        assert!(
            selection.is_quarantined(&input),
            "state {input} gets a row and is not in quarantine"
        );
        let mut rows = context.rows::<Quarantine>();
        rows.put(Table::Meta, key(&input), Vec::new());
        context.act(Action::Quarantined(input));
        let text =
            format!("state {input} is in quarantine: its notary reports it as consumed elsewhere");
        context.warn(vault::QUARANTINED.code, text);
    }

    /// Deletes the rows of states whose consumer is recorded in this round.
    pub(super) fn end(selection: &Selection, inputs: &[StateRef], context: &mut Context) {
        for input in inputs {
            // The selection forgets it when the round is durable.
            if selection.is_quarantined(input) {
                let mut rows = context.rows::<Quarantine>();
                rows.delete(Table::Meta, key(input));
            }
        }
    }

    /// Takes over the states in quarantine from the store, at the start.
    pub(super) fn restore(
        selection: &mut Selection,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let limit = context.options.selection.quarantined_max;
        for reference in quarantined_states(reads, limit)? {
            selection.quarantine(reference);
        }
        Ok(())
    }
}

fn key(state: &StateRef) -> Vec<u8> {
    meta_key(META_QUARANTINE, &state_ref_key(state))
}
