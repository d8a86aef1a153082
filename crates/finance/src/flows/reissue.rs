//! `cash.reissue`: exchanges cash for the same amount without history, which cuts its back chain.
//!
//! ```text
//!  holder                                      issuer
//!    │ select, build and sign the exit            │
//!    │── terms, exit, proofs of its fresh keys ──►│ verify; its own token, all of it the caller's; sign
//!    │                                            │ build, sign and verify the issue: nothing of it can fail later
//!    │                                            │ have the exit notarised, claim it, record it and the issue
//!    │◄─ both by delivery; their ids ─────────────│
//! ```
//! The issuer's side is in `reissue_responder`.
//!
//! # Correctness
//! A holder that gives up loses nothing: either its coins are consumed and exchanged, or they are not consumed. The exit has a
//! time window, so the coins stay locked for a bounded time if the issuer is silent.

use flow::library::{build_and_sign, offer_key, until_void, window_of_ms};
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, Party, SignedTransaction, StateAndRef, TransactionState};
use primitives::{Decode, PublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::anonymous::change_key;
use super::arguments::{SELECTION_DEADLINE_MS, Wanted, notary, party, select_cash};
use super::reissue_messages::{NAME, Proofs, Reissued, Terms, portion};
use super::reissue_responder::exchange;
use crate::{CashError, CashState, Currency, IssuedToken, Reference, cash_builder, cash_name};

/// Time during which the exit can be notarised, in milliseconds. The issuer first resolves the history of the cash, which may be
/// long.
const WINDOW_MS: u64 = 900_000;

/// Arguments of `cash.reissue`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReissueArgs {
    /// The currency.
    pub currency: Currency,
    /// The quantity, in minor units. The change of the states consumed comes back with its history.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The issuer of the cash; this node, if left out.
    #[serde(default)]
    pub issuer: Option<LegalName>,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// The number of states, of quantities as equal as possible; 1 if left out.
    #[serde(default)]
    pub outputs: Option<u32>,
    /// The notary whose states to exchange; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Maximum time to wait for cash that other flows have locked, in milliseconds; 30000 if left out.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Whether the new cash and the change go to fresh keys of this node; the key of the new cash is proved only to the issuer.
    /// If left out, both go to the key that the network map lists.
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

/// Exchanges cash for the same amount without history.
#[derive(Debug)]
pub struct ReissueCash;

impl Flow for ReissueCash {
    const NAME: &'static str = NAME;
    /// Version 1 sent no proofs of ownership, and exchanged an exit each time it was presented.
    const VERSION: u32 = 2;
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
        // Checked before any state is locked: cash that cannot be issued again is not exited.
        cash_builder::issue(notary.clone(), &token, &[portion(&terms, &ctx.me().key)])?;

        ctx.progress("selecting cash");
        let deadline_ms = args.deadline_ms.unwrap_or(SELECTION_DEADLINE_MS);
        let wanted = Wanted::from(&token);
        let inputs = select_cash(&ctx, &wanted, terms.quantity, &notary, deadline_ms).await?;

        ctx.progress("building");
        let change_to = change_key(&ctx, args.anonymous).await?;
        let spending = cash_builder::exit(notary, &inputs, terms.quantity, &change_to)?;
        let mut signers = spending.owners;
        signers.retain(|key| *key != issuer.key || issuer.id() == ctx.my_id());
        if issuer.id() == ctx.my_id() {
            let exit = build_and_sign(&ctx, spending.builder, &signers).await?;
            let owner = change_key(&ctx, args.anonymous).await?;
            return exchange(&ctx, &terms, exit, owner, None).await;
        }
        let builder = spending.builder.time_window(window_of_ms(&ctx, WINDOW_MS));
        let exit = build_and_sign(&ctx, builder, &signers).await?;
        let proofs = prove_owners(&ctx, &issuer, &inputs).await?;
        ask(&ctx, &terms, &issuer, exit, &proofs).await
    }
}

/// Proves all fresh keys that own the inputs to the issuer.
async fn prove_owners(
    ctx: &FlowContext,
    issuer: &Party,
    inputs: &[StateAndRef],
) -> Result<Proofs, FlowError> {
    let mut proved: Vec<PublicKey> = vec![ctx.me().key.clone()];
    let mut proofs = Vec::new();
    for input in inputs {
        let cash = CashState::from_bytes(&input.state.data).map_err(CashError::State)?;
        if !proved.contains(&cash.owner) {
            proofs.push(ctx.prove_key(&cash.owner, &issuer.id()).await?);
            proved.push(cash.owner);
        }
    }
    Ok(Proofs(proofs))
}

/// Runs the holder's side from the signed exit on.
async fn ask(
    ctx: &FlowContext,
    terms: &Terms,
    issuer: &Party,
    exit: SignedTransaction,
    proofs: &Proofs,
) -> Result<Reissued, FlowError> {
    ctx.progress("asking the issuer");
    let session = ctx.open_session(&issuer.id())?;
    session.send(terms).await?;
    let owner = match terms.fresh {
        true => offer_key(ctx, &session).await?,
        false => ctx.me().key.clone(),
    };
    session.send(&exit).await?;
    session.send(proofs).await?;
    let exchanged = async {
        let reissued: Reissued = session.receive().await?;
        if reissued.exit != exit.id() {
            return Err(CashError::NotReissued("it names another exit").into());
        }
        ctx.progress("waiting for the issuer's transactions");
        ctx.await_transaction(&reissued.exit).await?;
        let issue = ctx.await_transaction(&reissued.issue).await?;
        Ok((reissued, issue))
    };
    // The issuer may have the exit notarised until the window has ended.
    let void = until_void(exit.wire()).ok_or(CashError::NotAReissue("it has no end"))?;
    let what = format!("the exchange of exit {}", exit.id());
    let (reissued, issue) = ctx.within(void, &what, exchanged).await?;
    let token = terms.token(issuer);
    check_issue(&issue, &exit, &token, terms.quantity, &owner)?;
    Ok(reissued)
}

/// Checks the issuer's transaction: it must make the same amount of the same token at the same notary, for the holder, free to be
/// spent, and without history.
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
