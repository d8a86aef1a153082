//! Rows of the vault's view: their construction from changes of the ledger, and the way back.

use kernel::port::{Reads, StoreFailure};
use ledger::{PartyId, StateAndRef, StateRef, TxId};
use primitives::{Decode, Encode, PublicKey, Timestamp};
use vault::CoinRow;
use vaultview::{ProducedState, StateRow, TokenFacts};

use super::columns::Columns;
use super::key_names::KeyNames;

/// The row of a state that the ledger has produced.
pub(super) fn produced_row<R: Reads>(
    at: Timestamp,
    produced: &vault::Produced,
    names: &KeyNames<'_, R>,
    columns: &Columns,
) -> Result<ProducedState, StoreFailure> {
    let vault::Produced { seq, state, facts } = produced;
    let StateAndRef { state, reference } = state;
    let (token, quantity) = match &facts.fungible {
        Some(fungible) => {
            let id = *fungible.token.as_bytes();
            let facts = TokenFacts {
                id,
                symbol: fungible.symbol.clone(),
                issuer: names.network.title(&fungible.issuer),
            };
            (Some(facts), fungible.quantity)
        }
        None => (None, 0),
    };
    let only_owner = match (&facts.owner, facts.participants.as_slice()) {
        (Some(owner), [participant]) => owner == participant,
        _ => false,
    };
    let party = |key: &PublicKey| {
        let owner = names.owner(key)?;
        Ok(owner.map(|owner| *owner.as_bytes()))
    };
    let participants = facts.participants.iter();
    let with_party = |key: &PublicKey| Ok((key.to_bytes(), party(key)?));
    Ok(ProducedState {
        tx: *reference.tx.as_bytes(),
        output: reference.index,
        seq: *seq,
        contract: state.contract.as_str().to_owned(),
        token,
        quantity,
        owner: facts.owner.as_ref().map(Encode::to_bytes),
        owner_party: match &facts.owner {
            Some(owner) => party(owner)?,
            None => None,
        },
        participants: (!only_owner).then(|| facts.participants.to_bytes()),
        participant_keys: if only_owner {
            Vec::new()
        } else {
            participants
                .map(with_party)
                .collect::<Result<_, StoreFailure>>()?
        },
        linear_id: facts.linear_id.map(|id| *id.as_bytes()),
        notary: *state.notary.id().as_bytes(),
        recorded_at: at.as_ms(),
        state: state.to_bytes(),
        columns: columns.row(state.contract.as_str(), facts.columns.clone()),
    })
}

/// Returns the coin of a row.
pub(super) fn coin_row(row: StateRow) -> Option<CoinRow> {
    // The rows were encoded by this program. A row that does not decode is skipped, and an audit reports it.
    let state = ledger::TransactionState::from_bytes(&row.state).ok()?;
    let reference = StateRef::new(TxId::from_array(row.tx), row.output);
    let coin = StateAndRef { state, reference };
    Some(CoinRow {
        coin,
        quantity: row.quantity,
        seq: row.seq,
    })
}

/// A notary's party id, as the view holds it.
pub(super) fn notary_of(row: &StateRow) -> PartyId {
    PartyId::from_array(row.notary)
}
