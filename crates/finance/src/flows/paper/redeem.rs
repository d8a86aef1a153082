//! `paper.redeem`: the issuer pays the face value of a mature paper, and its holder gives it up.

use flow::library::{
    ANSWER_MS_MAX, NOTARY_ALLOWANCE_MS, build_and_sign, collect_signatures, finality,
    sign_transaction, window_for_answers,
};
use flow::{Deadline, Flow, FlowContext, FlowError, Responder, Session};
use ledger::{StateRef, TimeWindow, TransactionBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decode::open;
use crate::Portion;
use crate::cash_builder::{self, Spending};
use crate::flows::CashResult;
use crate::flows::agreed::{asks_only_for, await_final, lock_state, party_of_key, tell_final};
use crate::flows::arguments::{SELECTION_DEADLINE_MS, Wanted, select_cash};
use crate::paper::{PaperCommand, PaperError, builder, paper_name};

/// Arguments of `paper.redeem`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RedeemPaperArgs {
    /// The paper's state.
    pub paper: StateRef,
    /// Maximum time to wait for cash that other flows have locked, in milliseconds; 30000 if left out.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
}

primitives::record!(RedeemPaperArgs { paper, deadline_ms });

/// Pays the face value of a paper that this node issued. Its holder signs. If this node's key in the network map holds the
/// paper, the paper is redeemed without a payment.
#[derive(Debug)]
pub struct RedeemPaper;

impl Flow for RedeemPaper {
    const NAME: &'static str = "paper.redeem";
    const VERSION: u32 = 2;
    type Args = RedeemPaperArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &[
        "selecting cash",
        "building",
        "collecting signatures",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: RedeemPaperArgs) -> Result<CashResult, FlowError> {
        let input = lock_state(&ctx, args.paper).await?;
        let paper = open(&input)?;
        let me = ctx.me().clone();
        if paper.issuer.key != me.key {
            return Err(PaperError::NotTheIssuer.into());
        }
        if ctx.now() < paper.maturity {
            return Err(PaperError::NotMature.into());
        }
        let notary = input.state.notary.clone();
        // The contract requires no cash if the issuer's own key holds the paper. It cannot recognise a fresh key of the
        // issuer.
        let own = ctx.is_mine(&paper.owner).await?;
        // Checked before cash is locked: an unknown holder cannot be asked to sign.
        let holder = party_of_key(&ctx, &paper.owner).await?.id();
        let payment = if paper.owner == me.key {
            Spending {
                builder: TransactionBuilder::new(notary),
                owners: Vec::new(),
                change: 0,
            }
        } else {
            ctx.progress("selecting cash");
            let token = Wanted::from(&paper.token);
            let deadline_ms = args.deadline_ms.unwrap_or(SELECTION_DEADLINE_MS);
            let cash = select_cash(&ctx, &token, paper.face, &notary, deadline_ms).await?;
            let to_holder = Portion {
                owner: paper.owner.clone(),
                quantity: paper.face,
                states: 1,
            };
            cash_builder::pay(notary, &cash, &[to_holder], &me.key)?
        };
        ctx.progress("building");
        let mut redemption = builder::redeem(payment, &input)?;
        if !own {
            redemption.owners.retain(|key| *key != paper.owner);
        }
        let mut builder = redemption.builder;
        if !own {
            let end = window_for_answers(&ctx).end();
            builder = builder.time_window(TimeWindow::new(Some(paper.maturity), end)?);
        }
        let mut signed = build_and_sign(&ctx, builder, &redemption.owners).await?;
        let transaction = signed.id();
        if own {
            finality(&ctx, signed, &[]).await?;
            return Ok(CashResult { transaction });
        }
        let sessions = [ctx.open_session_offering(&holder, &[HoldsPaper::VERSION])?];
        signed = collect_signatures(&ctx, signed, &sessions).await?;
        finality(&ctx, signed, &[holder]).await?;
        tell_final(&ctx, &sessions, &transaction).await?;
        Ok(CashResult { transaction })
    }
}

/// The holder's side of `paper.redeem`: signs any redemption of papers of this node that takes nothing else. The contract
/// ensures full payment, and redemption only after maturity.
#[derive(Debug)]
pub struct HoldsPaper;

impl Responder for HoldsPaper {
    const NAME: &'static str = RedeemPaper::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let id = sign_transaction(&ctx, &session, |transaction, asked| {
            let redeem = |command| matches!(command, PaperCommand::Redeem);
            if asks_only_for(asked, transaction, paper_name(), redeem) {
                Ok(())
            } else {
                Err(PaperError::Proposal.into())
            }
        })
        .await?;
        // This node has locked nothing, so only its own time limit bounds the wait, not the issuer's window.
        let wait = Deadline::AfterMs(ANSWER_MS_MAX + NOTARY_ALLOWANCE_MS);
        await_final(&ctx, &session, &id, wait).await
    }
}
