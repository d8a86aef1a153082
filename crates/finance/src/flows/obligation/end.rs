//! `obligation.default` and `obligation.exit`: the obligee's actions on an unpaid debt.

use flow::library::build_and_sign;
use flow::{Flow, FlowContext, FlowError};
use ledger::{StateRef, TimeWindow, TransactionBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::result::{ObligationResult, finish};
use crate::flows::agreed::lock_state;
use crate::obligation::{ObligationCommand, ObligationError, ObligationState, builder};

/// Arguments of `obligation.exit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObligationArgs {
    /// The newest state of the obligation.
    pub obligation: StateRef,
}

primitives::record!(ObligationArgs { obligation });

/// Arguments of `obligation.default`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefaultArgs {
    /// The newest state of the obligation.
    pub obligation: StateRef,
    /// Whether to withdraw an earlier declaration; if left out, no.
    #[serde(default)]
    pub restore: bool,
}

primitives::record!(DefaultArgs {
    obligation,
    restore
});

/// Declares a debt to this node in default once it is due, or withdraws that declaration.
#[derive(Debug)]
pub struct DefaultObligation;

impl Flow for DefaultObligation {
    const NAME: &'static str = "obligation.default";
    const VERSION: u32 = 1;
    type Args = DefaultArgs;
    type Output = ObligationResult;
    const STEPS: &'static [&'static str] = &["building", "verifying", "notarising", "recording"];

    async fn run(ctx: FlowContext, args: DefaultArgs) -> Result<ObligationResult, FlowError> {
        let change = |mut state: ObligationState| {
            state.defaulted = !args.restore;
            Some(state)
        };
        obligee_changes(&ctx, args.obligation, change, |before| {
            if args.restore {
                return Ok((ObligationCommand::Restore(vec![before.id]), None));
            }
            if ctx.now() < before.due {
                return Err(ObligationError::NotDue);
            }
            let window = TimeWindow::from(before.due);
            Ok((ObligationCommand::Default(vec![before.id]), Some(window)))
        })
        .await
    }
}

/// Forgives a debt to this node.
#[derive(Debug)]
pub struct ExitObligation;

impl Flow for ExitObligation {
    const NAME: &'static str = "obligation.exit";
    const VERSION: u32 = 1;
    type Args = ObligationArgs;
    type Output = ObligationResult;
    const STEPS: &'static [&'static str] = &["building", "verifying", "notarising", "recording"];

    async fn run(ctx: FlowContext, args: ObligationArgs) -> Result<ObligationResult, FlowError> {
        obligee_changes(
            &ctx,
            args.obligation,
            |_| None,
            |before| Ok((ObligationCommand::Exit(vec![before.id]), None)),
        )
        .await
    }
}

/// Makes a change to an obligation that its obligee may make alone.
async fn obligee_changes(
    ctx: &FlowContext,
    reference: StateRef,
    change: impl FnOnce(ObligationState) -> Option<ObligationState> + Send,
    order: impl FnOnce(
        &ObligationState,
    ) -> Result<(ObligationCommand, Option<TimeWindow>), ObligationError>
    + Send,
) -> Result<ObligationResult, FlowError> {
    let input = lock_state(ctx, reference).await?;
    let before = builder::open(&input)?;
    let obligee = before.obligee.clone();
    if !ctx.is_mine(&obligee).await? {
        return Err(ObligationError::NotTheParty("obligee").into());
    }
    ctx.progress("building");
    let (command, window) = order(&before)?;
    let after = change(before.clone());
    let mut changed = TransactionBuilder::new(input.state.notary.clone());
    if let Some(window) = window {
        changed = changed.time_window(window);
    }
    let changed = builder::change(changed, &input, after.as_ref());
    let changed = builder::command(changed, &command, vec![obligee.clone()]);
    let signed = build_and_sign(ctx, changed, &[obligee]).await?;
    finish(ctx, signed, &before, after.as_ref()).await
}
