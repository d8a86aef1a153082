//! Shared parts of flows with a counterparty: the owners of keys, the scope of a signature, and the final notice to the other
//! side.

use flow::library::{Asked, receive_finality};
use flow::{Deadline, FlowContext, FlowError, Session};
use ledger::{
    ContractName, LegalName, Party, PartyId, SignedTransaction, StateAndRef, StateRef, TxId,
};
use primitives::{Decode, PublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::party;
use crate::{CashError, Currency, IssuedToken, Reference};

/// Time that a transaction which its builder proposes or issues may wait for the notary, in milliseconds.
pub(crate) const WINDOW_MS: u64 = 30_000;

/// A token in arguments: a currency with its issuer (this node, if left out) and reference (none, if left out).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenArgs {
    /// The currency, such as `GBP`.
    pub currency: Currency,
    /// The issuer of the cash; this node, if left out.
    #[serde(default)]
    pub issuer: Option<LegalName>,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
}

primitives::record!(TokenArgs {
    currency,
    issuer,
    reference
});

impl TokenArgs {
    /// Returns the token.
    pub(crate) fn resolve(&self, ctx: &FlowContext) -> Result<IssuedToken, FlowError> {
        let issuer = match &self.issuer {
            Some(name) => party(ctx, name)?,
            None => ctx.me(),
        };
        Ok(IssuedToken {
            issuer: issuer.clone(),
            reference: self.reference.clone().unwrap_or_default(),
            currency: self.currency,
        })
    }
}

/// The result of a flow that makes or passes on a state. Encoded as `[state, transaction]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateResult {
    /// The new state.
    pub state: StateRef,
    /// The transaction.
    pub transaction: TxId,
}

primitives::record!(StateResult { state, transaction });

/// Returns the party that owns a key of a state, as far as this node knows it.
pub(crate) async fn party_of_key(ctx: &FlowContext, key: &PublicKey) -> Result<Party, FlowError> {
    let unknown = || FlowError::from(CashError::UnknownParty(key.to_string()));
    ctx.party_of(key).await?.ok_or_else(unknown)
}

/// Locks one state for this flow.
pub(crate) async fn lock_state(
    ctx: &FlowContext,
    reference: StateRef,
) -> Result<StateAndRef, FlowError> {
    let mut states = ctx.lock_states(vec![reference]).await?;
    let text = "a state that was locked is missing";
    states
        .pop()
        .ok_or_else(|| FlowError::new("flow.effect_mismatched", text, "report it"))
}

/// Returns the first output of a contract. The transaction is one that this flow built with such an output.
pub(crate) fn output_of(transaction: &SignedTransaction, contract: &ContractName) -> StateRef {
    let outputs = transaction.wire().outputs();
    let first = (0..)
        .zip(outputs)
        .find(|(_, state)| state.contract == *contract);
    let (index, _) = first.expect("the transaction has an output of the contract");
    StateRef::new(transaction.id(), index)
}

/// Returns whether a transaction asks this node, for all its keys together, for a signature under one accepted command only. The
/// transaction must reference no states, and its outputs must not be bound to one another. Contracts take nothing from an owner
/// that none of their commands names.
pub(crate) fn asks_only_for<C: Decode>(
    asked: &Asked,
    transaction: &SignedTransaction,
    contract: &ContractName,
    accept: impl FnOnce(C) -> bool,
) -> bool {
    let wire = transaction.wire();
    let [place] = asked.commands.as_slice() else {
        return false;
    };
    let Some(command) = wire.commands().get(*place) else {
        return false;
    };
    command.contract == *contract
        && wire.references().is_empty()
        && C::from_bytes(&command.value).is_ok_and(accept)
        && wire
            .outputs()
            .iter()
            .all(|state| state.encumbrance.is_none())
}

/// Tells the counterparties that the transaction is final, so that their flows do not wait indefinitely.
pub(crate) async fn tell_final(
    ctx: &FlowContext,
    sessions: &[Session],
    id: &TxId,
) -> Result<(), FlowError> {
    ctx.send_all(sessions, id).await
}

/// Waits for the other side's [`tell_final`], and then until the transaction is recorded here. Returns the initiator's error if it
/// sends one instead.
///
/// # Errors
/// `flow.counterparty_silent`: the transaction is not here by the deadline.
pub(crate) async fn await_final(
    ctx: &FlowContext,
    session: &Session,
    id: &TxId,
    deadline: Deadline,
) -> Result<(), FlowError> {
    ctx.progress("waiting for the initiator");
    let what = format!("the final transaction {id}");
    let told = async {
        let _: TxId = session.receive().await?;
        receive_finality(ctx, id).await
    };
    ctx.within(deadline, &what, told).await?;
    Ok(())
}

/// Returns the parties that own the keys, without duplicates.
pub(crate) async fn parties<'a>(
    ctx: &FlowContext,
    keys: impl IntoIterator<Item = &'a PublicKey>,
) -> Result<Vec<PartyId>, FlowError> {
    let keys: Vec<PublicKey> = keys.into_iter().cloned().collect();
    let mut parties = Vec::new();
    for (key, party) in keys.iter().zip(ctx.parties_of(&keys).await?) {
        let party = party
            .ok_or_else(|| CashError::UnknownParty(key.to_string()))?
            .id();
        if !parties.contains(&party) {
            parties.push(party);
        }
    }
    Ok(parties)
}
