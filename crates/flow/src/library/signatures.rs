//! The two sides of a proposal: collecting signatures from all parties in parallel, and signing as one of the parties.

use std::collections::BTreeSet;
use std::future::Future;
use std::iter::repeat;

use ledger::limits::SIGNATURES_MAX;
use ledger::{Command, SignedTransaction, TransactionSignature, TxId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, PublicKey, SignatureContext};

use super::windows::{PROPOSAL_MS_MAX, until_void};
use crate::error::{PROPOSAL_REFUSED, SIGNATURE_MISSING, UNEXPECTED_SIGNER};
use crate::{Deadline, Fetching, FlowContext, FlowError, Session};

/// Sends the transaction on every session and collects the signatures, all in parallel. The result has the signatures of all
/// required signers; the notary's signature is added by [`finality`](super::finality).
///
/// # Errors
/// `flow.counterparty_silent`: the transaction's time window ended before all parties had answered. Without a window the flow
/// waits indefinitely, because a holder of the signatures can have the transaction notarised at any time.
pub async fn collect_signatures(
    ctx: &FlowContext,
    transaction: SignedTransaction,
    sessions: &[Session],
) -> Result<SignedTransaction, FlowError> {
    ctx.progress("collecting signatures");
    ctx.send_all(sessions, &transaction).await?;
    let collected = answers(ctx, &transaction, ctx.receive_all(sessions)).await?;
    take_signatures(ctx, transaction, sessions, collected).await
}

/// Waits for the parties' answers to a proposed transaction until the transaction is void.
pub(super) async fn answers<T>(
    ctx: &FlowContext,
    transaction: &SignedTransaction,
    answers: impl Future<Output = Result<T, FlowError>> + Send,
) -> Result<T, FlowError> {
    match until_void(transaction.wire()) {
        Some(deadline) => {
            let what = format!("a signature of transaction {}", transaction.id());
            ctx.within(deadline, &what, answers).await
        }
        None => answers.await,
    }
}

/// Adds the signatures that the parties gave, session by session. Accepts each required key once, and fails if a required
/// signature is missing at the end.
pub(super) async fn take_signatures(
    ctx: &FlowContext,
    transaction: SignedTransaction,
    sessions: &[Session],
    collected: Vec<PartySignatures>,
) -> Result<SignedTransaction, FlowError> {
    let mut expected = unsigned_keys(&transaction);
    let mut messages = Vec::with_capacity(collected.len());
    let mut signed = transaction;
    let by = collected.into_iter().zip(sessions);
    for (signature, session) in
        by.flat_map(|(given, session)| given.0.into_iter().zip(repeat(session)))
    {
        if !expected.remove(&signature.by) {
            let text = format!(
                "party {} signed with key {}, which is not among the missing signers",
                session.peer(),
                signature.by
            );
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

/// The signatures that a proposed transaction asks of this node, by its own key and its fresh keys, and the commands that they
/// cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// This node's keys whose signatures are missing. The node gives all of them or none.
    pub keys: Vec<PublicKey>,
    /// The commands that name any of this node's keys, by their positions in the transaction. A signature covers all of them.
    pub commands: Vec<usize>,
}

impl Asked {
    /// Finds the signatures and commands that a transaction asks of this node. It covers fresh keys too, so a check based on it
    /// cannot overlook one.
    pub async fn of(ctx: &FlowContext, transaction: &SignedTransaction) -> Result<Self, FlowError> {
        let commands = transaction.wire().commands();
        let leaves = |command: &Command| -> Vec<PublicKey> {
            let keys = command.signers.iter();
            keys.flat_map(PublicKey::leaf_keys).collect()
        };
        let named: BTreeSet<PublicKey> = commands.iter().flat_map(leaves).collect();
        let mut unsigned = unsigned_keys(transaction);
        let known: Vec<PublicKey> = named.union(&unsigned).cloned().collect();
        let own: BTreeSet<PublicKey> = ctx.own_of(&known).await?.into_iter().collect();
        unsigned.retain(|key| own.contains(key));
        let ours = |command: &Command| leaves(command).iter().any(|key| own.contains(key));
        let ours = commands
            .iter()
            .enumerate()
            .filter(|(_, command)| ours(command));
        Ok(Self {
            keys: unsigned.into_iter().collect(),
            commands: ours.map(|(place, _)| place).collect(),
        })
    }
}

/// The signatures given by one party. Encoded as a list of 1 to [`SIGNATURES_MAX`].
pub(super) struct PartySignatures(Vec<TransactionSignature>);

impl Encode for PartySignatures {
    fn encode(&self, e: &mut Encoder) {
        self.0.encode(e);
    }
}

impl Decode for PartySignatures {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.vec_of(SIGNATURES_MAX).map(Self)
    }
}

/// Answers [`collect_signatures`]: receives a transaction, resolves and verifies it, and asks `check` whether its terms are
/// acceptable. Then it signs with every key of this node that the transaction requires. Returns the id, to wait for its finality.
pub async fn sign_transaction(
    ctx: &FlowContext,
    session: &Session,
    check: impl FnOnce(&SignedTransaction, &Asked) -> Result<(), FlowError> + Send,
) -> Result<TxId, FlowError> {
    let transaction = receive_proposal(ctx, session).await?;
    let asked = Asked::of(ctx, &transaction).await?;
    check(&transaction, &asked)?;
    sign_proposal(ctx, session, &transaction, &asked).await
}

/// Receives a proposed transaction, resolves it from the proposer and verifies it. Signatures may be missing, including the
/// notary's. Use it for checks that need their own effects, before [`sign_proposal`].
///
/// # Errors
/// `flow.counterparty_silent`: the proposer did not send the transaction, or did not show its back chain, within
/// [`PROPOSAL_MS_MAX`] each.
pub async fn receive_proposal(
    ctx: &FlowContext,
    session: &Session,
) -> Result<SignedTransaction, FlowError> {
    ctx.progress("receiving a proposal");
    let wait = Deadline::AfterMs(PROPOSAL_MS_MAX);
    let transaction: SignedTransaction = ctx.within(wait, "a proposal", session.receive()).await?;
    let verified = verify_proposal(ctx, session, &transaction, Fetching::InBulk);
    ctx.within(wait, "the back chain of a proposal", verified)
        .await?;
    Ok(transaction)
}

/// Resolves a proposed transaction from the proposer and verifies it, as [`receive_proposal`] does. For proposals that arrive
/// inside another message.
pub async fn verify_proposal(
    ctx: &FlowContext,
    session: &Session,
    transaction: &SignedTransaction,
    fetching: Fetching,
) -> Result<(), FlowError> {
    let mut missing = transaction.missing_parties();
    missing.extend(transaction.wire().notary().map(|notary| notary.key.clone()));
    ctx.progress("verifying the proposal");
    ctx.verify_fetching(transaction, Some(session.peer()), &missing, fetching)
        .await
}

/// Signs a proposed transaction whose terms are accepted, with the keys in `asked`, and sends the signatures. No other key signs,
/// so only keys that were checked are used.
pub async fn sign_proposal(
    ctx: &FlowContext,
    session: &Session,
    transaction: &SignedTransaction,
    asked: &Asked,
) -> Result<TxId, FlowError> {
    if asked.keys.is_empty() {
        let text = "the transaction does not ask for this node's signature";
        return Err(FlowError::listed(&PROPOSAL_REFUSED, text));
    }
    ctx.progress("signing");
    let id = transaction.id();
    let mut given = Vec::with_capacity(asked.keys.len());
    for key in &asked.keys {
        let signature = ctx
            .sign(key, SignatureContext::Transaction, id.hash())
            .await?;
        given.push(TransactionSignature {
            by: key.clone(),
            signature,
            batch: None,
        });
    }
    session.send(&PartySignatures(given)).await?;
    Ok(id)
}

/// Returns the plain keys whose signatures are still missing.
fn unsigned_keys(transaction: &SignedTransaction) -> BTreeSet<PublicKey> {
    transaction
        .missing_parties()
        .iter()
        .flat_map(PublicKey::leaf_keys)
        .collect()
}
