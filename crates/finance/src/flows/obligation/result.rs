//! The result of a change of one obligation, and its last step.

use crate::flows::agreed::{output_of, parties};
use crate::obligation::{ObligationState, obligation_name};
use flow::library::finality;
use flow::{FlowContext, FlowError};
use ledger::{SignedTransaction, StateRef, TxId};
use primitives::{Hash, PublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a flow that changes one obligation. Encoded as `[obligation, transaction, state, owed]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObligationResult {
    /// The obligation's id, the same in all its versions.
    pub obligation: Hash,
    /// The transaction.
    pub transaction: TxId,
    /// The newest version; null if the obligation has ended.
    pub state: Option<StateRef>,
    /// The quantity owed now, in minor units.
    #[serde(with = "primitives::QuantityText")]
    pub owed: u64,
}

primitives::record!(ObligationResult {
    obligation,
    transaction,
    state,
    owed
});

/// Makes the change of one obligation final at every party that it concerns.
pub(super) async fn finish(
    ctx: &FlowContext,
    signed: SignedTransaction,
    before: &ObligationState,
    after: Option<&ObligationState>,
) -> Result<ObligationResult, FlowError> {
    let mut keys: Vec<&PublicKey> = vec![&before.obligor.key, &before.obligee];
    keys.extend(after.map(|after| &after.obligee));
    let concerned = parties(ctx, keys).await?;
    let transaction = signed.id();
    let state = after.map(|_| output_of(&signed, obligation_name()));
    finality(ctx, signed, &concerned).await?;
    Ok(ObligationResult {
        obligation: before.id,
        transaction,
        state,
        owed: after.map_or(0, |after| after.quantity),
    })
}
