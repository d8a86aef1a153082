//! Conversations with several parties: with all at once, or one after the other for comparison with systems that work this way.

use ledger::{PartyId, SignedTransaction, TxId, WireTransaction};
use primitives::{Encode, PublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signatures::{PartySignatures, answers, take_signatures};
use super::windows::until_void;
use super::{finality, notarise, receive_finality};
use crate::error::{MESSAGE_MALFORMED, SESSION_ENDED};
use crate::{Deadline, FlowContext, FlowError, Session};

/// Maximum time that one party may delay the others for a transaction that is already final, in milliseconds.
const TURN_MS_MAX: u64 = 30_000;

/// The order of a flow's conversations with its parties. Encoded as `[0]` or `[1]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Turns {
    /// All at once.
    #[default]
    Parallel,
    /// Each after the previous one has answered.
    Sequential,
}

primitives::variants!(Turns { 0 => Parallel, 1 => Sequential });

/// Sends a message with the proposed transaction on every session and collects the signatures. The result has those of all
/// required signers; finality adds the notary's.
///
/// # Errors
/// A party refuses, a party signs with a key that has no need to sign, or a signature is missing.
pub async fn collect_signatures_by<M: Encode>(
    ctx: &FlowContext,
    transaction: SignedTransaction,
    message: &M,
    sessions: &[Session],
    turns: Turns,
) -> Result<SignedTransaction, FlowError> {
    ctx.progress("collecting signatures");
    let collected: Vec<PartySignatures> = match turns {
        Turns::Parallel => {
            ctx.send_all(sessions, message).await?;
            answers(ctx, &transaction, ctx.receive_all(sessions)).await?
        }
        Turns::Sequential => {
            let mut collected = Vec::with_capacity(sessions.len());
            for session in sessions {
                session.send(message).await?;
                collected.push(answers(ctx, &transaction, session.receive()).await?);
            }
            collected
        }
    };
    take_signatures(ctx, transaction, sessions, collected).await
}

/// Makes a fully signed transaction final for parties whose flows wait with [`receive_final`]. In sequence, each party gets it
/// over its session in its turn; in parallel, all get it from the node at once. The node owes the transaction to every
/// participant, even if a party refuses it or does not answer.
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
    // Recorded last: a notarised flow cannot be killed before that, so every party gets the transaction.
    ctx.progress("distributing");
    for session in sessions {
        if session.send(&transaction).await.is_ok() {
            let wait = Deadline::AfterMs(TURN_MS_MAX);
            let answer = ctx.within(wait, "an acknowledgement", session.receive());
            let _: Result<TxId, FlowError> = answer.await;
        }
    }
    ctx.progress("recording");
    let others = participants.iter().filter(|party| **party != ctx.my_id());
    ctx.record(transaction.clone(), others.copied().collect())
        .await?;
    Ok(transaction)
}

/// Waits, opposite [`finality_by`], until the transaction that this node has signed is recorded here.
///
/// # Errors
/// The error of the other side, if it failed; then it will not make the transaction final. `flow.counterparty_silent`: the
/// transaction's time window has ended, and the transaction has not arrived.
pub async fn receive_final(
    ctx: &FlowContext,
    session: &Session,
    proposal: &WireTransaction,
) -> Result<(), FlowError> {
    let id = &proposal.id();
    ctx.progress("waiting for the final transaction");
    let deadline = until_void(proposal);
    let received = match deadline {
        Some(deadline) => {
            let what = format!("the final transaction {id}");
            ctx.within(deadline, &what, session.receive()).await
        }
        None => session.receive::<SignedTransaction>().await,
    };
    match received {
        Ok(transaction) if transaction.id() == *id => {
            let verified = ctx.verify(&transaction, Some(session.peer()), &[]);
            match deadline {
                Some(deadline) => ctx.within(deadline, "its back chain", verified).await?,
                None => verified.await?,
            }
            ctx.record(transaction, Vec::new()).await?;
            session.send(id).await
        }
        Ok(other) => {
            let text = format!("transaction {} came in place of {id}", other.id());
            Err(FlowError::listed(&MESSAGE_MALFORMED, text))
        }
        // The other side has finished; its node delivers the transaction, or already has.
        Err(error) if error.code == SESSION_ENDED.code => {
            let finality = receive_finality(ctx, id);
            let what = format!("the final transaction {id}");
            match deadline {
                Some(deadline) => ctx.within(deadline, &what, finality).await?,
                None => finality.await?,
            };
            Ok(())
        }
        Err(error) => Err(error),
    }
}
