//! Collecting signatures from all parties in parallel, and giving one.

use std::collections::BTreeSet;

use ledger::{SignedTransaction, TransactionSignature, TxId};
use primitives::{PublicKey, SignatureContext};

use crate::error::{PROPOSAL_REFUSED, SIGNATURE_MISSING, UNEXPECTED_SIGNER};
use crate::{FlowContext, FlowError, Session};

/// Sends the transaction on every session and collects their signatures, all in parallel. The result has the signatures
/// of all required signers; the notary's comes with [`finality`](super::finality).
pub async fn collect_signatures(
    ctx: &FlowContext,
    transaction: SignedTransaction,
    sessions: &[Session],
) -> Result<SignedTransaction, FlowError> {
    ctx.progress("collecting signatures");
    ctx.send_all(sessions, &transaction).await?;
    let collected: Vec<TransactionSignature> = ctx.receive_all(sessions).await?;
    let expected = unsigned_keys(&transaction);
    let mut messages = Vec::with_capacity(collected.len());
    let mut signed = transaction;
    for (signature, session) in collected.into_iter().zip(sessions) {
        if !expected.contains(&signature.by) {
            let text = format!("party {} signed with key {}", session.peer(), signature.by);
            return Err(FlowError::listed(&UNEXPECTED_SIGNER, text));
        }
        messages.push(signature.signed_message(&signed.id())?);
        signed = signed.with(signature);
    }
    ctx.check_signatures(messages).await?;
    let missing = signed.missing_parties();
    if let Some(key) = missing.first() {
        let text = format!(
            "{} required signatures are missing, one by key {key}",
            missing.len()
        );
        return Err(FlowError::listed(&SIGNATURE_MISSING, text));
    }
    Ok(signed)
}

/// The other side of [`collect_signatures`]: receives a transaction, resolves and verifies it, asks `check` whether its
/// terms are accepted, and signs. Returns the id, to wait for its finality.
pub async fn sign_transaction(
    ctx: &FlowContext,
    session: &Session,
    check: impl FnOnce(&SignedTransaction) -> Result<(), FlowError> + Send,
) -> Result<TxId, FlowError> {
    let transaction = receive_proposal(ctx, session).await?;
    check(&transaction)?;
    sign_proposal(ctx, session, &transaction).await
}

/// Receives a proposed transaction, resolves it from the proposer and verifies it. Signatures may be missing, the notary's
/// too. For checks that need effects of their own, before [`sign_proposal`].
pub async fn receive_proposal(
    ctx: &FlowContext,
    session: &Session,
) -> Result<SignedTransaction, FlowError> {
    ctx.progress("receiving a proposal");
    let transaction: SignedTransaction = session.receive().await?;
    let mut missing = transaction.missing_parties();
    missing.extend(transaction.wire().notary().map(|notary| notary.key.clone()));
    ctx.progress("verifying the proposal");
    ctx.verify(&transaction, Some(session.peer()), &missing)
        .await?;
    Ok(transaction)
}

/// Signs a proposed transaction whose terms are accepted, and sends the signature.
pub async fn sign_proposal(
    ctx: &FlowContext,
    session: &Session,
    transaction: &SignedTransaction,
) -> Result<TxId, FlowError> {
    let key = ctx.me().key.clone();
    if !unsigned_keys(transaction).contains(&key) {
        let text = "the transaction does not ask for this node's signature";
        return Err(FlowError::listed(&PROPOSAL_REFUSED, text));
    }
    ctx.progress("signing");
    let id = transaction.id();
    let signature = ctx
        .sign(&key, SignatureContext::Transaction, id.hash())
        .await?;
    session
        .send(&TransactionSignature {
            by: key,
            signature,
            batch: None,
        })
        .await?;
    Ok(id)
}

/// The plain keys that may still sign.
fn unsigned_keys(transaction: &SignedTransaction) -> BTreeSet<PublicKey> {
    transaction
        .missing_parties()
        .iter()
        .flat_map(PublicKey::leaf_keys)
        .collect()
}
