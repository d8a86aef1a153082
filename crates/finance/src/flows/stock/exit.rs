//! `stock.exit`: removes stock from circulation. This node has issued the stock and holds it.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, SelectionRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flows::CashResult;
use crate::flows::anonymous::change_key;
use crate::flows::arguments::{SELECTION_DEADLINE_MS, notary};
use crate::stock::{StockError, StockToken, Symbol, builder};

/// Arguments of `stock.exit`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExitStockArgs {
    /// The symbol of this issuer.
    pub symbol: Symbol,
    /// The quantity, in whole units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The notary whose states to exit; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Maximum time to wait for stock that other flows have locked, in milliseconds; 30000 if left out.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Whether the change goes to a fresh key of this node; if left out, it goes to the key that the network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

primitives::record!(ExitStockArgs {
    symbol,
    quantity,
    notary,
    deadline_ms,
    anonymous
});

/// Removes stock from circulation. This node has issued the stock and holds it.
#[derive(Debug)]
pub struct ExitStock;

impl Flow for ExitStock {
    const NAME: &'static str = "stock.exit";
    const VERSION: u32 = 1;
    type Args = ExitStockArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &[
        "selecting stock",
        "building",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: ExitStockArgs) -> Result<CashResult, FlowError> {
        if args.quantity == 0 {
            return Err(StockError::ZeroQuantity.into());
        }
        let (issuer, symbol) = (ctx.me().clone(), args.symbol);
        let token = StockToken { issuer, symbol }.id();
        let notary = notary(&ctx, args.notary.as_ref())?.clone();

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
        let giving = builder::exit(notary, &inputs, args.quantity, &change_to)?;
        let signed = build_and_sign(&ctx, giving.builder, &giving.signers).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &[]).await?;
        Ok(CashResult { transaction })
    }
}
