//! `obligation.move`: passes a claim on without payment.

use flow::library::build_and_sign;
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, StateRef, TransactionBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::result::{ObligationResult, finish};
use crate::flows::agreed::lock_state;
use crate::flows::anonymous::receiving_key;
use crate::flows::arguments::party;
use crate::obligation::{ObligationCommand, ObligationError, builder};

/// Arguments of `obligation.move`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoveObligationArgs {
    /// The newest state of the obligation.
    pub obligation: StateRef,
    /// The new obligee.
    pub to: LegalName,
    /// Whether it is owed to a fresh key from now on, which the new obligee proves only to this node; if left out, to the key
    /// that the network map lists. The obligor can pay it only after the obligee has proved the key to the obligor too, with
    /// `ledger.prove_key`.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

primitives::record!(MoveObligationArgs {
    obligation,
    to,
    anonymous
});

/// Passes a claim of this node on without payment.
#[derive(Debug)]
pub struct MoveObligation;

impl Flow for MoveObligation {
    const NAME: &'static str = "obligation.move";
    const VERSION: u32 = 1;
    type Args = MoveObligationArgs;
    type Output = ObligationResult;
    const STEPS: &'static [&'static str] = &[
        "asking for a fresh key",
        "receiving a fresh key",
        "building",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(
        ctx: FlowContext,
        args: MoveObligationArgs,
    ) -> Result<ObligationResult, FlowError> {
        let to = party(&ctx, &args.to)?.clone();
        let input = lock_state(&ctx, args.obligation).await?;
        let before = builder::open(&input)?;
        let obligee = before.obligee.clone();
        if !ctx.is_mine(&obligee).await? {
            return Err(ObligationError::NotTheParty("obligee").into());
        }
        if before.defaulted {
            return Err(ObligationError::InDefault.into());
        }
        if to.id() == before.obligor.id() {
            return Err(ObligationError::OwnDebt.into());
        }
        let new_obligee = receiving_key(&ctx, &to, args.anonymous).await?;
        ctx.progress("building");
        let mut after = before.clone();
        after.obligee = new_obligee;
        let command = ObligationCommand::Move(vec![before.id]);
        let moved = TransactionBuilder::new(input.state.notary.clone());
        let moved = builder::change(moved, &input, Some(&after));
        let moved = builder::command(moved, &command, vec![obligee.clone()]);
        let signed = build_and_sign(&ctx, moved, &[obligee]).await?;
        finish(&ctx, signed, &before, Some(&after)).await
    }
}
