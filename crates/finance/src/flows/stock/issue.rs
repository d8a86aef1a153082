//! `stock.issue`: issues stock of this node.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::LegalName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Portion;
use crate::flows::CashResult;
use crate::flows::anonymous::receiving_key;
use crate::flows::arguments::{notary, party};
use crate::stock::{StockToken, Symbol, builder};

/// Arguments of `stock.issue`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueStockArgs {
    /// The symbol: 1 to 16 capital letters, digits, dots and hyphens, a letter first.
    pub symbol: Symbol,
    /// The quantity, in whole units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The number of states, of quantities as equal as possible, at most 1000; 1 if left out.
    #[serde(default)]
    pub outputs: Option<u32>,
    /// The recipient; this node, if left out.
    #[serde(default)]
    pub recipient: Option<LegalName>,
    /// The notary of the new states; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Whether it goes to a fresh key, which its owner proves only to this node; if left out, it goes to the key that the
    /// network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

primitives::record!(IssueStockArgs {
    symbol,
    quantity,
    outputs,
    recipient,
    notary,
    anonymous
});

/// Issues stock of this node.
#[derive(Debug)]
pub struct IssueStock;

impl Flow for IssueStock {
    const NAME: &'static str = "stock.issue";
    const VERSION: u32 = 1;
    type Args = IssueStockArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &[
        "building",
        "asking for a fresh key",
        "receiving a fresh key",
        "verifying",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: IssueStockArgs) -> Result<CashResult, FlowError> {
        ctx.progress("building");
        let recipient = match &args.recipient {
            Some(name) => party(&ctx, name)?.clone(),
            None => ctx.me().clone(),
        };
        let token = StockToken {
            issuer: ctx.me().clone(),
            symbol: args.symbol,
        };
        let portion = Portion {
            owner: receiving_key(&ctx, &recipient, args.anonymous).await?,
            quantity: args.quantity,
            states: args.outputs.unwrap_or(1),
        };
        let notary = notary(&ctx, args.notary.as_ref())?.clone();
        let builder = builder::issue(notary, &token, &portion)?;
        let signed = build_and_sign(&ctx, builder, &[ctx.me().key.clone()]).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &[recipient.id()]).await?;
        Ok(CashResult { transaction })
    }
}
