//! Confidential identities: fresh keys, proved only to the counterparty.

use ledger::OwnershipProof;
use primitives::PublicKey;

use super::windows::ANSWER_MS_MAX;
use crate::{Deadline, FlowContext, FlowError, Session};

/// The fresh keys of two parties in one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identities {
    /// This node's key.
    pub mine: PublicKey,
    /// The other side's key, proved to this node.
    pub theirs: PublicKey,
}

/// Exchanges fresh keys: each side makes one and proves it to the other. Both sides call it.
///
/// # Errors
/// Codes `key.*`: the other side's proof is invalid.
pub async fn swap_identities(
    ctx: &FlowContext,
    session: &Session,
) -> Result<Identities, FlowError> {
    let mine = offer_key(ctx, session).await?;
    let theirs = request_key(ctx, session).await?;
    Ok(Identities { mine, theirs })
}

/// Receives a fresh key that the other side makes and proves with [`offer_key`].
///
/// # Errors
/// Codes `key.*`: the other side's proof is invalid. `flow.counterparty_silent`: no proof arrived in time.
pub async fn request_key(ctx: &FlowContext, session: &Session) -> Result<PublicKey, FlowError> {
    ctx.progress("receiving a fresh key");
    let wait = Deadline::AfterMs(ANSWER_MS_MAX);
    let proof: OwnershipProof = ctx.within(wait, "a fresh key", session.receive()).await?;
    ctx.learn_key(&session.peer(), proof).await
}

/// Makes a fresh key and proves it to the other side, which calls [`request_key`].
pub async fn offer_key(ctx: &FlowContext, session: &Session) -> Result<PublicKey, FlowError> {
    ctx.progress("offering a fresh key");
    let proof = ctx.fresh_key_for(&session.peer()).await?;
    session.send(&proof).await?;
    Ok(proof.key)
}
