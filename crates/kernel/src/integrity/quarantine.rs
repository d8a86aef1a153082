//! Quarantine: unconsumed states of the vault that their notary reports as consumed elsewhere.
//!
//! # Invariants
//! - The selection holds the set, the store one row for each member. A state enters both in one round, and leaves them in the
//!   round that records its consumer.
//! - The vault view hears of a state after its row is durable. A view that starts takes over the rows of the store.

use ledger::{NotaryError, NotaryResponse, PartyId, StateRef, TransactionState};
use primitives::{Decode, PublicKey};

use crate::event::Action;
use crate::kernel::Kernel;
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

impl Kernel {
    /// Puts the states of a notary's conflict into quarantine. Only a notary of the network is believed, and only about
    /// unconsumed states of this vault that it is the notary of.
    pub(crate) fn look_for_conflict(
        &mut self,
        peer: PartyId,
        body: &[u8],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if !self.context.identity.network.is_notary(&peer) {
            return Ok(());
        }
        let Ok(NotaryResponse::Refused(NotaryError::Conflict { conflicts })) =
            NotaryResponse::from_bytes(body)
        else {
            return Ok(());
        };
        for conflict in conflicts.iter().filter(|conflict| !conflict.is_reference) {
            let input = conflict.input;
            let state = self.book.state(&input, reads)?;
            let Some(state) = state.filter(|state| state.notary.id() == peer) else {
                continue;
            };
            // A consumer in this ledger explains the conflict.
            if self.consumed.consumer(&input, None, reads)?.is_none() && self.owns(&state, reads)? {
                self.quarantine(input);
            }
        }
        Ok(())
    }

    /// Returns whether a state belongs to this vault.
    fn owns(&self, state: &TransactionState, reads: &dyn Reads) -> Result<bool, StoreFailure> {
        let Ok(facts) = self.context.identity.contracts.describe(state) else {
            return Ok(false);
        };
        let ours = self.keys.owners(&self.context, reads);
        let holds = |key: &PublicKey| ours.holds(key);
        let relevant = vault::is_relevant(&facts, &holds);
        ours.finish()?;
        Ok(relevant)
    }

    fn quarantine(&mut self, input: StateRef) {
        if self.selection.quarantine(input) {
            let key = meta_key(META_QUARANTINE, &state_ref_key(&input));
            self.context
                .round
                .batch
                .of::<Quarantine>()
                .put(Table::Meta, key, Vec::new());
            self.context.round.then.push(Action::Quarantined(input));
            let text = format!(
                "state {input} is in quarantine: its notary reports it as consumed elsewhere"
            );
            self.context.warn(vault::QUARANTINED.code, text);
        }
    }

    /// Ends the quarantine of states whose consumer is recorded in this round.
    pub(crate) fn end_quarantine(&mut self, inputs: &[StateRef]) {
        for input in inputs {
            // The selection forgets it when the round is durable.
            if self.selection.is_quarantined(input) {
                let key = meta_key(META_QUARANTINE, &state_ref_key(input));
                self.context
                    .round
                    .batch
                    .of::<Quarantine>()
                    .delete(Table::Meta, key);
            }
        }
    }

    /// Takes over the states in quarantine from the store, at the start.
    pub(crate) fn restore_quarantine(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let limit = self.context.options.selection.quarantined_max;
        for reference in quarantined_states(reads, limit)? {
            self.selection.quarantine(reference);
        }
        Ok(())
    }
}
