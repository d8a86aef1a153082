//! `obligation.settle`: pays an obligation of this node, in full or in part.

use flow::library::build_and_sign;
use flow::{Flow, FlowContext, FlowError};
use ledger::StateRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::result::{ObligationResult, finish};
use crate::flows::agreed::{TokenArgs, lock_state, party_of_key};
use crate::flows::arguments::{SELECTION_DEADLINE_MS, Wanted, select_cash};
use crate::obligation::{ObligationCommand, ObligationError, SettlementPayment, builder};
use crate::{Portion, cash_builder};

/// Arguments of `obligation.settle`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettleObligationArgs {
    /// The newest state of the obligation.
    pub obligation: StateRef,
    /// The quantity to pay, in minor units; everything owed, if left out.
    #[serde(default, with = "primitives::OptionalQuantityInput")]
    pub quantity: Option<u64>,
    /// The token to pay in, one of those that the obligation accepts; the first, if left out.
    #[serde(default)]
    pub token: Option<TokenArgs>,
    /// Maximum time to wait for cash that other flows have locked, in milliseconds; 30000 if left out.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
}

primitives::record!(SettleObligationArgs {
    obligation,
    quantity,
    token,
    deadline_ms
});

/// Pays some or all of a debt of this node.
#[derive(Debug)]
pub struct SettleObligation;

impl Flow for SettleObligation {
    const NAME: &'static str = "obligation.settle";
    const VERSION: u32 = 1;
    type Args = SettleObligationArgs;
    type Output = ObligationResult;
    const STEPS: &'static [&'static str] = &[
        "selecting cash",
        "building",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(
        ctx: FlowContext,
        args: SettleObligationArgs,
    ) -> Result<ObligationResult, FlowError> {
        let input = lock_state(&ctx, args.obligation).await?;
        let before = builder::open(&input)?;
        let me = ctx.me().key.clone();
        if before.obligor.key != me {
            return Err(ObligationError::NotTheParty("obligor").into());
        }
        let (owed, quantity) = (before.quantity, args.quantity.unwrap_or(before.quantity));
        if quantity == 0 || quantity > owed {
            return Err(ObligationError::Quantity { quantity, owed }.into());
        }
        let [first, ..] = before.tokens.as_slice() else {
            return Err(ObligationError::Count.into());
        };
        let token = match &args.token {
            Some(token) => token.resolve(&ctx)?,
            None => first.clone(),
        };
        if !before.accepts(&token.id()) {
            return Err(ObligationError::TokenNotAccepted.into());
        }

        // Checked before cash is locked: an unknown obligee could not receive the transaction.
        party_of_key(&ctx, &before.obligee).await?;
        ctx.progress("selecting cash");
        let notary = input.state.notary.clone();
        let deadline_ms = args.deadline_ms.unwrap_or(SELECTION_DEADLINE_MS);
        let wanted = Wanted::from(&token);
        let cash = select_cash(&ctx, &wanted, quantity, &notary, deadline_ms).await?;

        ctx.progress("building");
        let to_obligee = Portion {
            owner: before.obligee.clone(),
            quantity,
            states: 1,
        };
        let mut payment = cash_builder::pay(notary, &cash, &[to_obligee], &me)?;
        let mut after = Some(before.clone()).filter(|_| quantity < owed);
        if let Some(after) = &mut after {
            after.quantity = owed - quantity;
        }
        let command = ObligationCommand::Settle(vec![SettlementPayment {
            obligation: before.id,
            token: token.id(),
            quantity,
        }]);
        let settled = builder::change(payment.builder, &input, after.as_ref());
        let settled = builder::command(settled, &command, vec![me.clone()]);
        if !payment.owners.contains(&me) {
            payment.owners.push(me);
        }
        let signed = build_and_sign(&ctx, settled, &payment.owners).await?;
        finish(&ctx, signed, &before, after.as_ref()).await
    }
}
