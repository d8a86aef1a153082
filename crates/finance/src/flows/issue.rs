//! `cash.issue`: issues cash that this node owes.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::LegalName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CashResult;
use super::anonymous::receiving_key;
use super::arguments::{notary, party};
use crate::{Currency, IssuedToken, Portion, Reference, cash_builder};

/// Arguments of `cash.issue`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueArgs {
    /// The currency, such as `GBP`.
    pub currency: Currency,
    /// The quantity, in minor units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// The number of states, of quantities as equal as possible; 1 if left out.
    #[serde(default)]
    pub outputs: Option<u32>,
    /// The recipient; this node, if left out.
    #[serde(default)]
    pub recipient: Option<LegalName>,
    /// The notary of the new states; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Whether the cash goes to a fresh key, which its owner proves only to this node; if left out, it goes to the key that the
    /// network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

primitives::record!(IssueArgs {
    currency,
    quantity,
    reference,
    outputs,
    recipient,
    notary,
    anonymous
});

/// Issues cash that this node owes.
#[derive(Debug)]
pub struct IssueCash;

impl Flow for IssueCash {
    const NAME: &'static str = "cash.issue";
    const VERSION: u32 = 1;
    type Args = IssueArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &[
        "building",
        "asking for a fresh key",
        "receiving a fresh key",
        "verifying",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: IssueArgs) -> Result<CashResult, FlowError> {
        ctx.progress("building");
        let recipient = match &args.recipient {
            Some(name) => party(&ctx, name)?.clone(),
            None => ctx.me().clone(),
        };
        let token = IssuedToken {
            issuer: ctx.me().clone(),
            reference: args.reference.unwrap_or_default(),
            currency: args.currency,
        };
        let portion = Portion {
            owner: receiving_key(&ctx, &recipient, args.anonymous).await?,
            quantity: args.quantity,
            states: args.outputs.unwrap_or(1),
        };
        let notary = notary(&ctx, args.notary.as_ref())?.clone();
        let builder = cash_builder::issue(notary, &token, &[portion])?;
        let signed = build_and_sign(&ctx, builder, &[ctx.me().key.clone()]).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &[recipient.id()]).await?;
        Ok(CashResult { transaction })
    }
}
