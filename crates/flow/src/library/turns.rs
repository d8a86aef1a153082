//! Speaking with several parties: with all at once, or with one after the other for comparison with systems that do so.

use ledger::{PartyId, SignedTransaction, TxId};
use primitives::{Encode, PublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signatures::{Given, take_signatures};
use super::{finality, notarise, receive_finality};
use crate::error::{MESSAGE_MALFORMED, SESSION_ENDED};
use crate::{FlowContext, FlowError, Session};

/// In which order the parties of a flow are spoken with. Encoded as `[0]` or `[1]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Turns {
    /// With all at once.
    #[default]
    Parallel,
    /// With each when the one before has answered.
    Sequential,
}

primitives::variants!(Turns { 0 => Parallel, 1 => Sequential });

/// Sends a message with the proposed transaction on every session and collects the signatures. The result has those of all
/// required signers; the notary's comes with finality.
///
/// # Errors
/// A party refuses, signs with a key that has no need to sign, or a signature is missing.
pub async fn collect_signatures_by<M: Encode>(
    ctx: &FlowContext,
    transaction: SignedTransaction,
    message: &M,
    sessions: &[Session],
    turns: Turns,
) -> Result<SignedTransaction, FlowError> {
    ctx.progress("collecting signatures");
    let collected: Vec<Given> = match turns {
        Turns::Parallel => {
            ctx.send_all(sessions, message).await?;
            ctx.receive_all(sessions).await?
        }
        Turns::Sequential => {
            let mut collected = Vec::with_capacity(sessions.len());
            for session in sessions {
                collected.push(session.send_and_receive(message).await?);
            }
            collected
        }
    };
    take_signatures(ctx, transaction, sessions, collected).await
}

/// Makes a fully signed transaction final for parties whose flows wait with [`receive_final`]: each hears of it over its session
/// in its turn, or all get it from the node at once. Whatever a party answers, and whether it does, the node owes it the
/// transaction like any participant.
pub async fn finality_by(
    ctx: &FlowContext,
    transaction: SignedTransaction,
    participants: &[PartyId],
    sessions: &[Session],
    turns: Turns,
) -> Result<SignedTransaction, FlowError> {
    if turns == Turns::Parallel {
        return finality(ctx, transaction, participants).await;
    }
    ctx.progress("verifying");
    let wire = transaction.wire();
    let notary = wire.notary().filter(|_| wire.needs_notary()).cloned();
    let missing: Vec<PublicKey> = notary.iter().map(|notary| notary.key.clone()).collect();
    ctx.verify(&transaction, None, &missing).await?;
    let transaction = match notary {
        Some(notary) => notarise(ctx, transaction, &notary).await?,
        None => transaction,
    };
    // Recorded last: until then the flow can't be killed, so nobody is left out.
    ctx.progress("distributing");
    for session in sessions {
        if session.send(&transaction).await.is_ok() {
            let _: Result<TxId, FlowError> = session.receive().await;
        }
    }
    ctx.progress("recording");
    let others = participants.iter().filter(|party| **party != ctx.my_id());
    ctx.record(transaction.clone(), others.copied().collect())
        .await?;
    Ok(transaction)
}

/// The other side of [`finality_by`]: waits until the transaction that this node has signed is recorded here.
///
/// # Errors
/// The other side's, if it failed instead: then the transaction will not become final through it.
pub async fn receive_final(
    ctx: &FlowContext,
    session: &Session,
    id: &TxId,
) -> Result<(), FlowError> {
    ctx.progress("waiting for the final transaction");
    match session.receive::<SignedTransaction>().await {
        Ok(transaction) if transaction.id() == *id => {
            ctx.verify(&transaction, Some(session.peer()), &[]).await?;
            ctx.record(transaction, Vec::new()).await?;
            session.send(id).await
        }
        Ok(other) => {
            let text = format!("transaction {} came in place of {id}", other.id());
            Err(FlowError::listed(&MESSAGE_MALFORMED, text))
        }
        // The other side is done: its node delivers the transaction, or has.
        Err(error) if error.code == SESSION_ENDED.code => {
            receive_finality(ctx, id).await.map(|_| ())
        }
        Err(error) => Err(error),
    }
}
