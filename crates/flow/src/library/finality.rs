//! Finality: verifies, notarises, records, and delivers the transaction to every participant.

use std::collections::BTreeSet;

use ledger::{
    NotaryRequest, NotaryResponse, NotarySubject, Party, PartyId, SignedTransaction, TxId,
};
use primitives::{Decode, Encode, PublicKey, SignatureContext};

use crate::error::NOTARY_ANSWER_INVALID;
use crate::{FlowContext, FlowError, Service};

/// Makes a fully signed transaction final: verified, notarised if needed, recorded here and in the durable deliveries to
/// all `participants` but this node. Returns when it is *finalised*; the node reports when it is *delivered*.
pub async fn finality(
    ctx: &FlowContext,
    transaction: SignedTransaction,
    participants: &[PartyId],
) -> Result<SignedTransaction, FlowError> {
    ctx.progress("verifying");
    let notary = notary_of(&transaction);
    let missing: Vec<PublicKey> = notary.iter().map(|notary| notary.key.clone()).collect();
    ctx.verify(&transaction, None, &missing).await?;
    let transaction = match notary {
        Some(notary) => notarise(ctx, transaction, &notary).await?,
        None => transaction,
    };
    ctx.progress("recording");
    let others: BTreeSet<PartyId> = participants
        .iter()
        .copied()
        .filter(|party| *party != ctx.my_id())
        .collect();
    ctx.record(transaction.clone(), others.into_iter().collect())
        .await?;
    Ok(transaction)
}

/// Has the notary sign a verified transaction. A refusal fails with the notary's code. A notary that is busy or away is
/// asked again until it answers.
///
/// A validating notary, by the network map, gets the whole transaction; any other gets a tear-off.
pub async fn notarise(
    ctx: &FlowContext,
    transaction: SignedTransaction,
    notary: &Party,
) -> Result<SignedTransaction, FlowError> {
    ctx.progress("notarising");
    let message = NotaryRequest::message(&transaction.id(), &notary.id());
    let key = ctx.me().key.clone();
    let signature = ctx
        .sign(&key, SignatureContext::NotaryRequest, message)
        .await?;
    let info = ctx.network().node(&notary.id());
    let validating = info
        .and_then(|info| info.notary.as_ref())
        .is_some_and(|notary| notary.validating);
    let subject = NotarySubject::of(&transaction, validating);
    let request = NotaryRequest::new(subject, ctx.me(), signature);
    let answer = ctx
        .request(&notary.id(), Service::Notarise, request.to_bytes(), true)
        .await?;
    let invalid = |text: String| FlowError::listed(&NOTARY_ANSWER_INVALID, text);
    match NotaryResponse::from_bytes(&answer).map_err(|error| invalid(error.to_string()))? {
        NotaryResponse::Signed(signature) => {
            if !notary.key.leaf_keys().contains(&signature.by) {
                return Err(invalid(
                    "the signature is by another key than the notary's".into(),
                ));
            }
            if signature.batch.is_none() {
                return Err(invalid("the notary signed as a party, not a batch".into()));
            }
            let message = signature.signed_message(&transaction.id())?;
            ctx.check_signatures(vec![message]).await?;
            Ok(transaction.with(signature))
        }
        NotaryResponse::Refused(error) => {
            ctx.settled();
            Err(error.into())
        }
    }
}

/// Waits until a transaction that a counterparty finalises has been recorded here.
pub async fn receive_finality(
    ctx: &FlowContext,
    id: &TxId,
) -> Result<SignedTransaction, FlowError> {
    ctx.progress("waiting for the final transaction");
    ctx.await_transaction(id).await
}

/// Returns the notary that has to sign. A notary is needed if the transaction consumes or refers to states or has a time
/// window.
fn notary_of(transaction: &SignedTransaction) -> Option<Party> {
    let wire = transaction.wire();
    wire.notary().filter(|_| wire.needs_notary()).cloned()
}
