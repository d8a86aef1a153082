//! The issuer's side of `cash.reissue`.
//!
//! # Correctness
//! - The issuer's signature on the exit would also release cash that the issuer owns itself, alone or together with others. So
//!   the caller must own all of the exited cash, with every key of it.
//! - An exit is exchanged once. When the notary has signed it, the issuer claims it for the issue that it has prepared. The exit,
//!   the issue and the claim are in one commit. Another session that presents the same exit, at the same time or years later,
//!   gets the issue of the first claim. An exit that is recorded here without a claim was exchanged by version 1 of the flow, or
//!   before this node was restored from an older copy, and is refused.
//! - The holder never has both amounts, and a crash leaves it with one of them: before that commit nothing is final here, and
//!   after it both transactions are owed to the holder.

use flow::library::{ANSWER_MS_MAX, build_and_sign, notarise, receive_proposal, request_key};
use flow::{Deadline, FlowContext, FlowError, Responder, Session};
use ledger::{Party, PartyId, SignedTransaction, StateAndRef, TxId};
use primitives::{Decode, PublicKey};

use super::arguments::signatures;
use super::reissue_messages::{NAME, Proofs, Reissued, Terms, portion};
use crate::{CashCommand, CashError, CashState, cash_builder, cash_name};

/// The purpose under which exits are claimed.
const CLAIM: &str = "cash.reissue";

/// The issuer's side.
#[derive(Debug)]
pub struct ReissueCashResponder;

impl Responder for ReissueCashResponder {
    const NAME: &'static str = NAME;
    const VERSION: u32 = 2;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let wait = Deadline::AfterMs(ANSWER_MS_MAX);
        let terms: Terms = ctx.within(wait, "the terms", session.receive()).await?;
        let owner = match terms.fresh {
            true => request_key(&ctx, &session).await?,
            false => ctx.party(&session.peer())?.key.clone(),
        };
        let mut exit = receive_proposal(&ctx, &session).await?;
        let proofs = ctx.within(wait, "proofs of ownership", session.receive());
        let Proofs(proofs) = proofs.await?;
        check_exit(&exit, &terms, ctx.me())?;
        for proof in proofs {
            ctx.learn_key(&session.peer(), proof).await?;
        }
        // Verification has recorded everything that the exit consumes.
        let consumed = ctx.states(exit.wire().inputs().to_vec()).await?;
        check_owners(&ctx, &consumed, session.peer()).await?;
        let holder = Some(session.peer());
        if let Some(before) = exchanged_before(&ctx, &exit.id()).await? {
            deliver_again(&ctx, &before, session.peer()).await?;
            return session.send(&before).await;
        }
        ctx.progress("signing");
        // Signs only with the issuer's own key.
        let key = std::slice::from_ref(&ctx.me().key);
        for signature in signatures(&ctx, &exit.id(), key).await? {
            exit.add(signature);
        }
        let reissued = exchange(&ctx, &terms, exit, owner, holder).await?;
        session.send(&reissued).await
    }
}

/// Checks that a verified proposal is an exit of the agreed quantity of this node's token and has no other command. The contract has
/// checked that the rest of the consumed cash goes to its outputs.
fn check_exit(exit: &SignedTransaction, terms: &Terms, me: &Party) -> Result<(), CashError> {
    let wire = exit.wire();
    let [command] = wire.commands() else {
        return Err(CashError::NotAReissue("it has other commands"));
    };
    let expected = CashCommand::Exit {
        token: terms.token(me).id(),
        quantity: terms.quantity,
    };
    if command.contract != *cash_name()
        || CashCommand::from_bytes(&command.value).ok() != Some(expected)
    {
        return Err(CashError::NotAReissue(
            "it exits other cash than this node's, or another amount",
        ));
    }
    if wire.inputs().is_empty() || !wire.references().is_empty() {
        return Err(CashError::NotAReissue(
            "it consumes nothing, or reads states",
        ));
    }
    Ok(())
}

/// Checks that the caller owns all cash that a proposal consumes: every key of every owner is the caller's by the network map or by a
/// proof. A composite key with a key of this node or of a third party in it is not the caller's.
async fn check_owners(
    ctx: &FlowContext,
    consumed: &[StateAndRef],
    caller: PartyId,
) -> Result<(), FlowError> {
    let mut keys: Vec<PublicKey> = Vec::new();
    for state in consumed {
        let cash = CashState::from_bytes(&state.state.data).map_err(CashError::State)?;
        for key in cash.owner.leaf_keys() {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let owners = ctx.parties_of(&keys).await?;
    let mut owners = owners.iter().map(|owner| owner.as_ref().map(Party::id));
    if owners.all(|owner| owner == Some(caller)) {
        return Ok(());
    }
    Err(CashError::NotAReissue("it exits cash that is not the caller's").into())
}

/// Returns the earlier exchange of an exit, if there was one.
async fn exchanged_before(ctx: &FlowContext, exit: &TxId) -> Result<Option<Reissued>, FlowError> {
    let issue: Option<TxId> = ctx.claimed(CLAIM, *exit).await?;
    match issue {
        Some(issue) => Ok(Some(Reissued { exit: *exit, issue })),
        None if ctx.transaction(exit).await?.is_some() => {
            Err(CashError::NotAReissue("it was exchanged before").into())
        }
        None => Ok(None),
    }
}

/// Delivers both transactions to the holder again, if they are recorded. The first session is about to record the missing ones.
async fn deliver_again(
    ctx: &FlowContext,
    before: &Reissued,
    holder: PartyId,
) -> Result<(), FlowError> {
    for id in [before.exit, before.issue] {
        if let Some(transaction) = ctx.transaction(&id).await? {
            ctx.record(transaction, vec![holder]).await?;
        }
    }
    Ok(())
}

/// Makes the signed exit final and issues the same amount to its holder, or to this node if `holder` is `None`. Each exit is
/// exchanged once.
pub(super) async fn exchange(
    ctx: &FlowContext,
    terms: &Terms,
    exit: SignedTransaction,
    owner: PublicKey,
    holder: Option<PartyId>,
) -> Result<Reissued, FlowError> {
    let notary = exit.wire().notary().cloned();
    let notary = notary.ok_or(CashError::NotAReissue("it has no notary"))?;
    let portions = [portion(terms, &owner)];
    let builder = cash_builder::issue(notary.clone(), &terms.token(ctx.me()), &portions)?;
    let issue = build_and_sign(ctx, builder, &[ctx.me().key.clone()]).await?;
    // Any check that could refuse the issue runs before the exit is final.
    ctx.verify(&issue, None, &[]).await?;
    ctx.progress("verifying");
    ctx.verify(&exit, None, std::slice::from_ref(&notary.key))
        .await?;
    let exit = notarise(ctx, exit, &notary).await?;
    ctx.progress("issuing");
    // Claim only after notarisation: by then the exit has consumed the holder's cash, so a claim is never free. On an older
    // copy it is refused if the exit is recorded, as by a recovery: the exit may have been exchanged in the lost course.
    let first: TxId = ctx.claim(CLAIM, exit.id(), &issue.id()).await?;
    let reissued = Reissued {
        exit: exit.id(),
        issue: first,
    };
    let receivers: Vec<PartyId> = holder.into_iter().collect();
    let mut records = vec![ctx.record(exit, receivers.clone())];
    if first == issue.id() {
        records.push(ctx.record(issue, receivers));
    }
    // Recorded in parallel, so that both are in one commit and no kill comes between them.
    ctx.join_all(records).await?;
    Ok(reissued)
}
