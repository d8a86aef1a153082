//! Quarantine: unconsumed states of the vault that their notary reports as consumed elsewhere.
//!
//! # Invariants
//! - The selection holds the set, the store one row for each member. A state enters both in one round, and leaves them in the
//!   round that records its consumer.
//! - The vault view hears of a state after its row is durable. A view that starts takes over the rows of the store.

use ledger::{NotaryError, NotaryResponse, PartyId, StateRef, TransactionState};
use primitives::{Decode, PublicKey};
use vault::Selection;

use crate::context::Context;
use crate::event::Action;
use crate::integrity::contradictions::Contradictions;
use crate::keys::KeyBook;
use crate::ledger_book::Book;
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

/// Returns the states that a notary's conflict puts into quarantine. Only a notary of the network is believed, and only about
/// unconsumed states of this vault that it is the notary of.
pub(crate) fn states_in_conflict(
    peer: PartyId,
    body: &[u8],
    parts: VaultOwners<'_>,
    context: &Context,
    reads: &dyn Reads,
) -> Result<Vec<StateRef>, StoreFailure> {
    let mut found = Vec::new();
    if !context.identity.network.is_notary(&peer) {
        return Ok(found);
    }
    let Ok(NotaryResponse::Refused(NotaryError::Conflict { conflicts })) =
        NotaryResponse::from_bytes(body)
    else {
        return Ok(found);
    };
    for conflict in conflicts.iter().filter(|conflict| !conflict.is_reference) {
        let input = conflict.input;
        let state = parts.book.state(&input, reads)?;
        let Some(state) = state.filter(|state| state.notary.id() == peer) else {
            continue;
        };
        // A consumer in this ledger explains the conflict.
        if !parts.contradictions.is_consumed(&input, reads)?
            && owns(&state, parts.keys, context, reads)?
        {
            found.push(input);
        }
    }
    Ok(found)
}

/// The parts that know the states of this vault.
pub(crate) struct VaultOwners<'a> {
    pub(crate) book: &'a Book,
    pub(crate) contradictions: &'a Contradictions,
    pub(crate) keys: &'a KeyBook,
}

/// Returns whether a state belongs to this vault.
fn owns(
    state: &TransactionState,
    keys: &KeyBook,
    context: &Context,
    reads: &dyn Reads,
) -> Result<bool, StoreFailure> {
    let Ok(facts) = context.identity.contracts.describe(state) else {
        return Ok(false);
    };
    let ours = keys.owners(context, reads);
    let holds = |key: &PublicKey| ours.holds(key);
    let relevant = vault::is_relevant(&facts, &holds);
    ours.finish()?;
    Ok(relevant)
}

impl Quarantine {
    /// Writes the row of a state that the selection has put into quarantine, and tells the view and the operator.
    pub(crate) fn begin(selection: &Selection, input: StateRef, context: &mut Context) {
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
    pub(crate) fn end(selection: &Selection, inputs: &[StateRef], context: &mut Context) {
        for input in inputs {
            // The selection forgets it when the round is durable.
            if selection.is_quarantined(input) {
                let mut rows = context.rows::<Quarantine>();
                rows.delete(Table::Meta, key(input));
            }
        }
    }

    /// Takes over the states in quarantine from the store, at the start.
    pub(crate) fn restore(
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
