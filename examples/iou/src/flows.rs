//! The flows: `iou.issue`, started by the borrower and accepted by the lender, and `iou.settle`.

use finance::{Currency, IssuedToken, Portion, Reference, cash_builder};
use flow::library::{
    ANSWER_MS_MAX, build_and_sign, collect_signatures, finality, receive_finality, sign_transaction,
};
use flow::{Deadline, Flow, FlowContext, FlowError, Responder, Session};
use ledger::{
    LegalName, SelectionRequest, SignedTransaction, StateAndRef, StateRef, TransactionBuilder, TxId,
};
use primitives::{Decode, Encode, Hash, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Iou, IouCommand, iou_code, iou_name};

/// How long to wait for cash that other flows have locked.
const SELECTION_DEADLINE_MS: u64 = 30_000;

/// Arguments of `iou.issue`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IssueIouArgs {
    /// The lender; the IOU is settled in cash that the lender issued.
    pub lender: LegalName,
    /// In which currency, such as `GBP`.
    pub currency: Currency,
    /// How much, in minor units: a number, or its text beyond 2^53.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// Time at which the remaining debt is paid automatically, in milliseconds since the Unix epoch; never, if left out.
    #[serde(default)]
    pub due: Option<Timestamp>,
}

primitives::record!(IssueIouArgs {
    lender,
    currency,
    quantity,
    due
});

/// The result of both flows.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IouResult {
    /// The IOU, the same in all its versions.
    pub id: Hash,
    /// The transaction that made or settled it.
    pub transaction: TxId,
    /// How much is owed now, in minor units, as text.
    #[serde(with = "primitives::QuantityText")]
    pub owed: u64,
}

primitives::record!(IouResult {
    id,
    transaction,
    owed
});

/// This node promises to pay a lender.
#[derive(Debug)]
pub struct IssueIou;

impl Flow for IssueIou {
    const NAME: &'static str = "iou.issue";
    const VERSION: u32 = 1;
    type Args = IssueIouArgs;
    type Output = IouResult;
    const STEPS: &'static [&'static str] = &["collecting signatures", "verifying", "recording"];

    async fn run(ctx: FlowContext, args: IssueIouArgs) -> Result<IouResult, FlowError> {
        let unknown = "name a party of the network map, other than this node";
        let lender = ctx.network().by_name(&args.lender).cloned();
        let lender = lender.filter(|lender| lender != ctx.me()).ok_or_else(|| {
            FlowError::new("iou.lender_unknown", args.lender.to_string(), unknown)
        })?;
        let iou = Iou {
            id: Hash::from_bytes(ctx.random32()?),
            lender: lender.clone(),
            borrower: ctx.me().clone(),
            token: IssuedToken {
                issuer: lender.clone(),
                reference: Reference::default(),
                currency: args.currency,
            },
            quantity: args.quantity,
            due: args.due,
        };
        let (code, constraint) = iou_code();
        let signers = vec![iou.borrower.key.clone(), iou.lender.key.clone()];
        let builder = TransactionBuilder::new(ctx.notary()?.clone())
            .attachment(*code)
            .output_data(iou_name().clone(), constraint.clone(), iou.to_bytes())
            .command(iou_name().clone(), IouCommand::Issue.to_bytes(), signers);
        let proposal = build_and_sign(&ctx, builder, &[ctx.me().key.clone()]).await?;
        let session = ctx.open_session(&lender.id())?;
        // The transaction consumes nothing, so nothing is locked, and this node may give up.
        let wait = Deadline::AfterMs(ANSWER_MS_MAX);
        let sessions = [session];
        let signed = collect_signatures(&ctx, proposal, &sessions);
        let signed = ctx.within(wait, "the lender's answer", signed).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &[lender.id()]).await?;
        Ok(IouResult {
            id: iou.id,
            transaction,
            owed: iou.quantity,
        })
    }
}

/// The lender's side of `iou.issue`.
#[derive(Debug)]
pub struct AcceptIou;

impl Responder for AcceptIou {
    const NAME: &'static str = IssueIou::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        // The contract has accepted the transaction. This code decides whether this lender wants it. A signature covers
        // the whole transaction, so nothing else may be in it: other parts could spend states that this node owns.
        let id = sign_transaction(&ctx, &session, |transaction, _| {
            let (_, iou) = iou_of(transaction)?;
            let wire = transaction.wire();
            let alone =
                wire.inputs().is_empty() && wire.outputs().len() == 1 && wire.commands().len() == 1;
            let ours = iou.lender == *ctx.me() && iou.token.issuer == iou.lender;
            if alone && ours && iou.borrower.id() == session.peer() {
                return Ok(());
            }
            let hint = "propose an IOU of your own to this lender, and nothing beside it";
            Err(FlowError::new(
                "iou.not_ours",
                "not an IOU for this lender",
                hint,
            ))
        })
        .await?;
        let wait = Deadline::AfterMs(ANSWER_MS_MAX);
        let recorded = receive_finality(&ctx, &id);
        ctx.within(wait, "the final IOU", recorded).await?;
        Ok(())
    }
}

/// Arguments of `iou.settle`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SettleIouArgs {
    /// The transaction that made the newest version of the IOU.
    pub transaction: TxId,
    /// How much to pay, in minor units; all of it, if left out.
    #[serde(default, with = "primitives::OptionalQuantityInput")]
    pub quantity: Option<u64>,
}

primitives::record!(SettleIouArgs {
    transaction,
    quantity
});

/// Pays some or all of this node's debt.
#[derive(Debug)]
pub struct SettleIou;

impl Flow for SettleIou {
    const NAME: &'static str = "iou.settle";
    const VERSION: u32 = 1;
    type Args = SettleIouArgs;
    type Output = IouResult;
    const STEPS: &'static [&'static str] =
        &["selecting cash", "verifying", "notarising", "recording"];

    async fn run(ctx: FlowContext, args: SettleIouArgs) -> Result<IouResult, FlowError> {
        let made = ctx
            .transaction(&args.transaction)
            .await?
            .ok_or_else(no_iou)?;
        let (input, mut iou) = iou_of(&made)?;
        let quantity = args.quantity.unwrap_or(iou.quantity);
        iou.quantity = iou.quantity.checked_sub(quantity).ok_or_else(|| {
            let owed = format!("{} is owed", iou.quantity);
            FlowError::new("iou.too_much", owed, "pay no more than is owed")
        })?;

        ctx.progress("selecting cash");
        let me = ctx.me().key.clone();
        let notary = input.state.notary.clone();
        let request = SelectionRequest {
            token: iou.token.id(),
            quantity,
            notary: Some(notary.id()),
            deadline_ms: SELECTION_DEADLINE_MS,
        };
        let cash = ctx.select_states(request).await?;
        let to_lender = Portion {
            owner: iou.lender.key.clone(),
            quantity,
            states: 1,
        };
        let payment = cash_builder::pay(notary, &cash, &[to_lender], &me)?;

        let (code, constraint) = iou_code();
        let settle = IouCommand::Settle.to_bytes();
        let mut builder = payment.builder.attachment(*code).input(&input).command(
            iou_name().clone(),
            settle,
            vec![me],
        );
        if iou.quantity > 0 {
            builder = builder.output_data(iou_name().clone(), constraint.clone(), iou.to_bytes());
        }
        let signed = build_and_sign(&ctx, builder, &payment.owners).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &[iou.lender.id()]).await?;
        Ok(IouResult {
            id: iou.id,
            transaction,
            owed: iou.quantity,
        })
    }
}

/// The IOU that a transaction made.
pub(crate) fn iou_of(transaction: &SignedTransaction) -> Result<(StateAndRef, Iou), FlowError> {
    let mut outputs = (0u32..).zip(transaction.wire().outputs());
    let (index, state) = outputs
        .find(|(_, state)| state.contract == *iou_name())
        .ok_or_else(no_iou)?;
    let iou = Iou::from_bytes(&state.data)?;
    let state = StateAndRef {
        state: state.clone(),
        reference: StateRef::new(transaction.id(), index),
    };
    Ok((state, iou))
}

pub(crate) fn no_iou() -> FlowError {
    let hint = "name the transaction that made the newest version of an IOU of this node";
    FlowError::new("iou.unknown", "no such IOU is recorded here", hint)
}
