//! `swap.mandate` and `swap.revoke`: the swaps that a coordinator may settle for this node.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, StateAndRef, StateRef, TransactionBuilder};
use primitives::{Decode, Encode, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flows::agreed::{StateResult, lock_state, output_of};
use crate::flows::arguments::{notary, party};
use crate::flows::stock::StockArgs;
use crate::flows::{CashResult, TokenArgs};
use crate::swap::{Mandate, MandateCommand, Market, Side, SwapError, mandate_code, mandate_name};

/// Arguments of `swap.mandate`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GiveMandateArgs {
    /// The coordinator that may propose swaps.
    pub coordinator: LegalName,
    /// `buy`: this node gives cash for stock. `sell`: it gives stock for cash.
    pub side: Side,
    /// The cash.
    pub cash: TokenArgs,
    /// The stock.
    pub stock: StockArgs,
    /// The limit price in minor units of cash per unit of stock: the maximum if this node buys, the minimum if it sells.
    #[serde(with = "primitives::QuantityInput")]
    pub price: u64,
    /// The maximum quantity of stock in one swap, in whole units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity_max: u64,
    /// The end of the mandate, in milliseconds since 1970; if left out, it stands until it is revoked.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// The notary of the mandate; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
}

primitives::record!(GiveMandateArgs {
    coordinator,
    side,
    cash,
    stock,
    price,
    quantity_max,
    until,
    notary
});

/// Lets a coordinator settle swaps for this node, within limits, until it is revoked. Replaces earlier mandates to the same
/// coordinator on the same side of the same market.
#[derive(Debug)]
pub struct GiveMandate;

impl Flow for GiveMandate {
    const NAME: &'static str = "swap.mandate";
    const VERSION: u32 = 1;
    type Args = GiveMandateArgs;
    type Output = StateResult;
    const STEPS: &'static [&'static str] = &[
        "looking for earlier mandates",
        "building",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: GiveMandateArgs) -> Result<StateResult, FlowError> {
        if args.price == 0 || args.quantity_max == 0 {
            return Err(SwapError::Zero.into());
        }
        let now = ctx.now();
        if let Some(until) = args.until.filter(|until| now >= *until) {
            return Err(SwapError::Ended(until).into());
        }
        let me = ctx.me().clone();
        let mandate = Mandate {
            owner: me.clone(),
            coordinator: party(&ctx, &args.coordinator)?.clone(),
            market: Market {
                side: args.side,
                cash: args.cash.resolve(&ctx)?,
                stock: args.stock.resolve(&ctx)?,
            },
            price: args.price,
            quantity_max: args.quantity_max,
            until: args.until,
        };
        ctx.progress("looking for earlier mandates");
        let mut before = ctx.linear(mandate_name(), &mandate.id()).await?;
        // One transaction has one notary, so a mandate at another notary must be revoked separately.
        let notary = match before.first() {
            Some(earlier) if args.notary.is_none() => earlier.state.notary.clone(),
            _ => notary(&ctx, args.notary.as_ref())?.clone(),
        };
        before.retain(|earlier| earlier.state.notary == notary);
        let references = before.iter().map(|earlier| earlier.reference).collect();
        if !before.is_empty() {
            ctx.lock_states(references).await?;
        }

        ctx.progress("building");
        let (code, constraint) = mandate_code();
        let signers = vec![me.key.clone()];
        let mut builder = TransactionBuilder::new(notary)
            .attachment(*code)
            .inputs(&before)
            .output_data(
                mandate_name().clone(),
                constraint.clone(),
                mandate.to_bytes(),
            );
        let mut commands = vec![MandateCommand::Give];
        if !before.is_empty() {
            commands.push(MandateCommand::Revoke);
        }
        for command in commands {
            let value = command.to_bytes();
            builder = builder.command(mandate_name().clone(), value, signers.clone());
        }
        let signed = build_and_sign(&ctx, builder, &signers).await?;
        let state = output_of(&signed, mandate_name());
        finality(&ctx, signed, &[]).await?;
        Ok(StateResult {
            state,
            transaction: state.tx,
        })
    }
}

/// Arguments of `swap.revoke`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevokeMandateArgs {
    /// The mandate's state.
    pub mandate: StateRef,
}

primitives::record!(RevokeMandateArgs { mandate });

/// Revokes a mandate. Swaps that this node has already agreed to may still settle.
#[derive(Debug)]
pub struct RevokeMandate;

impl Flow for RevokeMandate {
    const NAME: &'static str = "swap.revoke";
    const VERSION: u32 = 1;
    type Args = RevokeMandateArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &["building", "verifying", "notarising", "recording"];

    async fn run(ctx: FlowContext, args: RevokeMandateArgs) -> Result<CashResult, FlowError> {
        let input = lock_state(&ctx, args.mandate).await?;
        let me = ctx.me().key.clone();
        if open(&input)?.owner.key != me {
            return Err(SwapError::NotAMandate.into());
        }
        ctx.progress("building");
        let builder = TransactionBuilder::new(input.state.notary.clone())
            .attachment(mandate_code().0)
            .input(&input)
            .command(
                mandate_name().clone(),
                MandateCommand::Revoke.to_bytes(),
                vec![me.clone()],
            );
        let signed = build_and_sign(&ctx, builder, &[me]).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &[]).await?;
        Ok(CashResult { transaction })
    }
}

/// Decodes the mandate in a state.
pub(super) fn open(state: &StateAndRef) -> Result<Mandate, SwapError> {
    if state.state.contract != *mandate_name() {
        return Err(SwapError::NotAMandate);
    }
    Mandate::from_bytes(&state.state.data).map_err(SwapError::Mandate)
}
