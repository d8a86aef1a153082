//! `obligation.move`: passes the claim on, for nothing.

use flow::library::build_and_sign;
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, StateRef, TransactionBuilder};
use serde::{Deserialize, Serialize};

use super::{ObligationResult, finish};
use crate::flows::agreed::lock_state;
use crate::flows::arguments::party;
use crate::obligation::{ObligationCommand, ObligationError, builder};

/// Arguments of `obligation.move`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveObligationArgs {
    /// The newest state of the obligation.
    pub obligation: StateRef,
    /// Who is owed from now on.
    pub to: LegalName,
}

primitives::record!(MoveObligationArgs { obligation, to });

/// Passes a claim of this node on, for nothing.
#[derive(Debug)]
pub struct MoveObligation;

impl Flow for MoveObligation {
    const NAME: &'static str = "obligation.move";
    const VERSION: u32 = 1;
    type Args = MoveObligationArgs;
    type Output = ObligationResult;

    async fn run(
        ctx: FlowContext,
        args: MoveObligationArgs,
    ) -> Result<ObligationResult, FlowError> {
        let to = party(&ctx, &args.to)?.clone();
        let input = lock_state(&ctx, args.obligation).await?;
        let before = builder::open(&input)?;
        let me = ctx.me().key.clone();
        if before.obligee != me {
            return Err(ObligationError::NotTheParty("obligee").into());
        }
        if before.defaulted {
            return Err(ObligationError::InDefault.into());
        }
        ctx.progress("building");
        let mut after = before.clone();
        after.obligee = to.key;
        let command = ObligationCommand::Move(vec![before.id]);
        let moved = TransactionBuilder::new(input.state.notary.clone());
        let moved = builder::change(moved, &input, Some(&after));
        let moved = builder::command(moved, &command, vec![me.clone()]);
        let signed = build_and_sign(&ctx, moved, &[me]).await?;
        finish(&ctx, signed, &before, Some(&after)).await
    }
}
