//! The conflicts that notaries report about states of this vault.

use ledger::{NotaryError, NotaryResponse, PartyId, StateRef, TransactionState};
use primitives::{Decode, PublicKey};

use crate::context::Context;
use crate::integrity::views::IntegrityViews;
use crate::port::StoreFailure;

/// Returns the states that a notary's conflict puts into quarantine. Only a notary of the network is believed, and only about
/// unconsumed states of this vault that it is the notary of.
pub(super) fn states_in_conflict(
    peer: PartyId,
    body: &[u8],
    views: IntegrityViews<'_>,
    context: &Context,
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
        let state = views.book.state(&input, views.reads)?;
        let Some(state) = state.filter(|state| state.notary.id() == peer) else {
            continue;
        };
        // A consumer in this ledger explains the conflict.
        if !views.contradictions.is_consumed(&input, views.reads)? && owns(&state, views, context)?
        {
            found.push(input);
        }
    }
    Ok(found)
}

/// Returns whether a state belongs to this vault.
fn owns(
    state: &TransactionState,
    views: IntegrityViews<'_>,
    context: &Context,
) -> Result<bool, StoreFailure> {
    let Ok(facts) = context.identity.contracts.describe(state) else {
        return Ok(false);
    };
    let ours = views.keys.owners(context, views.reads);
    let holds = |key: &PublicKey| ours.holds(key);
    let relevant = vault::is_relevant(&facts, &holds);
    ours.finish()?;
    Ok(relevant)
}
