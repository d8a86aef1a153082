//! `stock.transfer`: passes stock on to one party without payment.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, SelectionRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::StockArgs;
use crate::Portion;
use crate::flows::CashResult;
use crate::flows::anonymous::{change_key, receiving_key};
use crate::flows::arguments::{SELECTION_DEADLINE_MS, notary, party};
use crate::stock::{StockError, Symbol, builder};

/// Arguments of `stock.transfer`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferStockArgs {
    /// The symbol.
    pub symbol: Symbol,
    /// The issuer; this node, if left out.
    #[serde(default)]
    pub issuer: Option<LegalName>,
    /// The quantity, in whole units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The recipient.
    pub to: LegalName,
    /// The number of states, of quantities as equal as possible, at most 1000; 1 if left out.
    #[serde(default)]
    pub states: Option<u32>,
    /// The notary whose states to pass on; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Maximum time to wait for stock that other flows have locked, in milliseconds; 30000 if left out.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Whether fresh keys are used: the stock goes to one that its owner proves only to this node, and the change to one of this
    /// node. If left out, both go to the keys that the network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

primitives::record!(TransferStockArgs {
    symbol,
    issuer,
    quantity,
    to,
    states,
    notary,
    deadline_ms,
    anonymous
});

/// Passes stock on to one party without payment. The change comes back as one state.
#[derive(Debug)]
pub struct TransferStock;

impl Flow for TransferStock {
    const NAME: &'static str = "stock.transfer";
    const VERSION: u32 = 1;
    type Args = TransferStockArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &[
        "asking for a fresh key",
        "receiving a fresh key",
        "selecting stock",
        "building",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: TransferStockArgs) -> Result<CashResult, FlowError> {
        if args.quantity == 0 {
            return Err(StockError::ZeroQuantity.into());
        }
        let to = party(&ctx, &args.to)?.clone();
        let (symbol, issuer) = (args.symbol, args.issuer);
        let token = StockArgs { symbol, issuer }.resolve(&ctx)?.id();
        let notary = notary(&ctx, args.notary.as_ref())?.clone();
        let portion = Portion {
            owner: receiving_key(&ctx, &to, args.anonymous).await?,
            quantity: args.quantity,
            states: args.states.unwrap_or(1),
        };

        ctx.progress("selecting stock");
        let request = SelectionRequest {
            token,
            quantity: args.quantity,
            notary: Some(notary.id()),
            deadline_ms: args.deadline_ms.unwrap_or(SELECTION_DEADLINE_MS),
        };
        let inputs = ctx.select_states(request).await?;

        ctx.progress("building");
        let change_to = change_key(&ctx, args.anonymous).await?;
        let giving = builder::transfer(notary, &inputs, &portion, &change_to)?;
        let signed = build_and_sign(&ctx, giving.builder, &giving.signers).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &[to.id()]).await?;
        Ok(CashResult { transaction })
    }
}
