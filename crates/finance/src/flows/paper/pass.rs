//! `paper.move`: passes a paper on without payment.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, StateRef, TransactionBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decode::open;
use crate::flows::agreed::{StateResult, lock_state, output_of, parties};
use crate::flows::anonymous::receiving_key;
use crate::flows::arguments::party;
use crate::paper::{PaperError, builder, paper_name};

/// Arguments of `paper.move`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovePaperArgs {
    /// The paper's state.
    pub paper: StateRef,
    /// The new owner.
    pub to: LegalName,
    /// Whether it goes to a fresh key, which the new owner proves only to this node; if left out, to the key that the network
    /// map lists. The issuer can redeem it only after the owner has proved the key to the issuer too, with `ledger.prove_key`.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

primitives::record!(MovePaperArgs {
    paper,
    to,
    anonymous
});

/// Passes a paper of this node on without payment.
#[derive(Debug)]
pub struct MovePaper;

impl Flow for MovePaper {
    const NAME: &'static str = "paper.move";
    const VERSION: u32 = 1;
    type Args = MovePaperArgs;
    type Output = StateResult;
    const STEPS: &'static [&'static str] = &[
        "asking for a fresh key",
        "receiving a fresh key",
        "building",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: MovePaperArgs) -> Result<StateResult, FlowError> {
        let to = party(&ctx, &args.to)?.clone();
        let input = lock_state(&ctx, args.paper).await?;
        let paper = open(&input)?;
        if !ctx.is_mine(&paper.owner).await? {
            return Err(PaperError::NotTheOwner.into());
        }
        let owner = receiving_key(&ctx, &to, args.anonymous).await?;
        ctx.progress("building");
        let builder = TransactionBuilder::new(input.state.notary.clone());
        let builder = builder::transfer(builder, &input, owner)?;
        let signed = build_and_sign(&ctx, builder, &[paper.owner]).await?;
        let state = output_of(&signed, paper_name());
        let concerned = parties(&ctx, [&to.key, &paper.issuer.key]).await?;
        finality(&ctx, signed, &concerned).await?;
        Ok(StateResult {
            state,
            transaction: state.tx,
        })
    }
}
