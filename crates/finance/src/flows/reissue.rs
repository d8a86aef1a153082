//! `cash.reissue`: exchanges cash for the same amount without a past, so that its back chain is cut.
//!
//! ```text
//!  holder                                      issuer
//!    │ select, build and sign the exit            │
//!    │── terms, exit ────────────────────────────►│ verify, check that it is its own token, sign
//!    │                                            │ build, sign and verify the issue: nothing of it can fail later
//!    │                                            │ have the exit notarised, record it, record the issue
//!    │◄─ both by delivery; their ids ─────────────│
//! ```
//! # Correctness
//! The issuer's signature on the exit also speaks for cash that the issuer owns itself, so it exits none of that for anybody.
//! The issuer alone makes both final, the issue only after the exit: nobody ever has both amounts. Between the two stands
//! nothing but the issuer's own journal, which finishes after a crash; and the exit that the holder receives bears the issuer's
//! signature, which proves what it owes. A holder who gives up before loses nothing: its coins are consumed or they are not.

use flow::library::{build_and_sign, finality, offer_key, receive_proposal, request_key};
use flow::{Flow, FlowContext, FlowError, Responder, Session};
use ledger::{
    LegalName, Party, PartyId, SelectionRequest, SignedTransaction, StateAndRef, TransactionState,
    TxId,
};
use primitives::{Decode, PublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::anonymous::change_key;
use super::arguments::{SELECTION_DEADLINE_MS, notary, party, signatures};
use crate::{
    CashCommand, CashError, CashState, Currency, IssuedToken, Portion, Reference, cash_builder,
    cash_name,
};

/// Arguments of `cash.reissue`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReissueArgs {
    /// The currency.
    pub currency: Currency,
    /// How much, in minor units. What is left of the states consumed comes back as it is, with its past.
    pub quantity: u64,
    /// Who issued the cash; this node, if left out.
    #[serde(default)]
    pub issuer: Option<LegalName>,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// In how many states, as equal as can be; 1 if left out.
    #[serde(default)]
    pub outputs: Option<u32>,
    /// The notary whose states to exchange; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// How long to wait for cash that other flows have locked, in milliseconds; 30000 if left out.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Whether the new cash and the change go to fresh keys of this node, the first proved to the issuer alone; to the key that
    /// the network map lists, if left out.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

primitives::record!(ReissueArgs {
    currency,
    quantity,
    issuer,
    reference,
    outputs,
    notary,
    deadline_ms,
    anonymous
});

/// What `cash.reissue` returns. Encoded as `[exit, issue]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reissued {
    /// The transaction that took the cash out of the world.
    pub exit: TxId,
    /// The transaction that made it anew.
    pub issue: TxId,
}

primitives::record!(Reissued { exit, issue });

/// What the holder wants of the issuer. Encoded as `[currency, reference, quantity, states, fresh]`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Terms {
    currency: Currency,
    reference: Reference,
    quantity: u64,
    states: u32,
    /// Whether the holder offers a fresh key for the new cash next.
    fresh: bool,
}

primitives::record!(Terms {
    currency,
    reference,
    quantity,
    states,
    fresh
});

impl Terms {
    fn token(&self, issuer: &Party) -> IssuedToken {
        IssuedToken {
            issuer: issuer.clone(),
            reference: self.reference.clone(),
            currency: self.currency,
        }
    }
}

/// Exchanges cash for the same amount without a past.
#[derive(Debug)]
pub struct ReissueCash;

impl Flow for ReissueCash {
    const NAME: &'static str = "cash.reissue";
    const VERSION: u32 = 1;
    type Args = ReissueArgs;
    type Output = Reissued;
    const STEPS: &'static [&'static str] = &[
        "selecting cash",
        "building",
        "asking the issuer",
        "offering a fresh key",
        "waiting for the issuer's transactions",
        "waiting for the final transaction",
    ];

    async fn run(ctx: FlowContext, args: ReissueArgs) -> Result<Reissued, FlowError> {
        let issuer = match &args.issuer {
            Some(name) => party(&ctx, name)?.clone(),
            None => ctx.me().clone(),
        };
        let terms = Terms {
            currency: args.currency,
            reference: args.reference.unwrap_or_default(),
            quantity: args.quantity,
            states: args.outputs.unwrap_or(1),
            fresh: args.anonymous.unwrap_or(false),
        };
        let token = terms.token(&issuer);
        let notary = notary(&ctx, args.notary.as_ref())?.clone();
        // Before anything is locked: what can't be issued is not exited.
        cash_builder::issue(notary.clone(), &token, &[portion(&terms, &ctx.me().key)])?;

        ctx.progress("selecting cash");
        let request = SelectionRequest {
            token: token.id(),
            quantity: terms.quantity,
            notary: Some(notary.id()),
            deadline_ms: args.deadline_ms.unwrap_or(SELECTION_DEADLINE_MS),
        };
        let inputs = ctx.select_states(request).await?;

        ctx.progress("building");
        let change_to = change_key(&ctx, args.anonymous).await?;
        let spending = cash_builder::exit(notary, &inputs, terms.quantity, &change_to)?;
        let mut signers = spending.owners;
        signers.retain(|key| *key != issuer.key || issuer.id() == ctx.my_id());
        let exit = build_and_sign(&ctx, spending.builder, &signers).await?;
        if issuer.id() == ctx.my_id() {
            let owner = change_key(&ctx, args.anonymous).await?;
            return exchange(&ctx, &terms, exit, owner, None).await;
        }
        ask(&ctx, &terms, &issuer, exit).await
    }
}

/// The holder's side from the signed exit on.
async fn ask(
    ctx: &FlowContext,
    terms: &Terms,
    issuer: &Party,
    exit: SignedTransaction,
) -> Result<Reissued, FlowError> {
    ctx.progress("asking the issuer");
    let session = ctx.open_session(&issuer.id())?;
    session.send(terms).await?;
    let owner = match terms.fresh {
        true => offer_key(ctx, &session).await?,
        false => ctx.me().key.clone(),
    };
    session.send(&exit).await?;
    let reissued: Reissued = session.receive().await?;
    if reissued.exit != exit.id() {
        return Err(CashError::NotReissued("it names another exit").into());
    }
    ctx.progress("waiting for the issuer's transactions");
    ctx.await_transaction(&reissued.exit).await?;
    let issue = ctx.await_transaction(&reissued.issue).await?;
    let token = terms.token(issuer);
    check_issue(&issue, &exit, &token, terms.quantity, &owner)?;
    Ok(reissued)
}

/// What the issuer made: the same amount of the same token at the same notary, for the holder, free to be spent, and without
/// a past.
fn check_issue(
    issue: &SignedTransaction,
    exit: &SignedTransaction,
    token: &IssuedToken,
    quantity: u64,
    owner: &PublicKey,
) -> Result<(), CashError> {
    let wire = issue.wire();
    if !wire.inputs().is_empty() {
        return Err(CashError::NotReissued("the new cash has a past"));
    }
    if wire.notary() != exit.wire().notary() {
        return Err(CashError::NotReissued("the new cash is at another notary"));
    }
    let mut sum = 0u64;
    let free = |output: &&TransactionState| {
        output.contract == *cash_name() && output.encumbrance.is_none()
    };
    for output in wire.outputs().iter().filter(free) {
        let cash = CashState::from_bytes(&output.data).map_err(CashError::State)?;
        if cash.token == *token && cash.owner == *owner {
            sum = sum.checked_add(cash.quantity).ok_or(CashError::Overflow)?;
        }
    }
    if sum == quantity {
        Ok(())
    } else {
        Err(CashError::NotReissued("the new cash is another amount"))
    }
}

/// The issuer's side.
#[derive(Debug)]
pub struct ReissueCashResponder;

impl Responder for ReissueCashResponder {
    const NAME: &'static str = ReissueCash::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let terms: Terms = session.receive().await?;
        let owner = match terms.fresh {
            true => request_key(&ctx, &session).await?,
            false => ctx.party(&session.peer())?.key.clone(),
        };
        let mut exit = receive_proposal(&ctx, &session).await?;
        check_exit(&exit, &terms, ctx.me())?;
        // Verification has recorded all that it consumes.
        let consumed = ctx.states(exit.wire().inputs().to_vec()).await?;
        check_owners(&consumed, ctx.me())?;
        ctx.progress("signing");
        // As the issuer, and with no other key.
        let key = std::slice::from_ref(&ctx.me().key);
        for signature in signatures(&ctx, &exit.id(), key).await? {
            exit.add(signature);
        }
        let holder = Some(session.peer());
        let reissued = exchange(&ctx, &terms, exit, owner, holder).await?;
        session.send(&reissued).await
    }
}

/// That a verified proposal exits what it should, and does nothing else: the contract has seen to it that what is consumed
/// is exited or goes on to somebody.
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

/// That none of the cash that a proposal consumes is this node's own: its signature, given as the issuer, would spend that too.
fn check_owners(consumed: &[StateAndRef], me: &Party) -> Result<(), CashError> {
    for state in consumed {
        let cash = CashState::from_bytes(&state.state.data).map_err(CashError::State)?;
        if cash.owner == me.key {
            return Err(CashError::NotAReissue("it exits cash of this node"));
        }
    }
    Ok(())
}

/// Makes the signed exit final and issues the same amount to its holder (this node, if nobody else).
async fn exchange(
    ctx: &FlowContext,
    terms: &Terms,
    exit: SignedTransaction,
    owner: PublicKey,
    holder: Option<PartyId>,
) -> Result<Reissued, FlowError> {
    let notary = exit.wire().notary().cloned();
    let notary = notary.ok_or(CashError::NotAReissue("it has no notary"))?;
    let portions = [portion(terms, &owner)];
    let builder = cash_builder::issue(notary, &terms.token(ctx.me()), &portions)?;
    let issue = build_and_sign(ctx, builder, &[ctx.me().key.clone()]).await?;
    // All that could refuse the issue does so before the exit is final.
    ctx.verify(&issue, None, &[]).await?;
    let receivers: Vec<PartyId> = holder.into_iter().collect();
    let exit = finality(ctx, exit, &receivers).await?.id();
    ctx.progress("issuing");
    ctx.record(issue.clone(), receivers).await?;
    Ok(Reissued {
        exit,
        issue: issue.id(),
    })
}

fn portion(terms: &Terms, owner: &PublicKey) -> Portion {
    Portion {
        owner: owner.clone(),
        quantity: terms.quantity,
        states: terms.states,
    }
}
