//! `cash.exit`: removes cash from circulation. This node has issued the cash and holds it.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::LegalName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::anonymous::change_key;
use super::arguments::{SELECTION_DEADLINE_MS, notary, party, select_cash};
use super::{CashResult, TokenChoice};
use crate::{CashError, Currency, Reference, cash_builder};

/// Arguments of `cash.exit`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExitArgs {
    /// The currency.
    pub currency: Currency,
    /// The quantity, in minor units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The issuer of the cash. It must be this node, which is the default.
    #[serde(default)]
    pub issuer: Option<LegalName>,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// The notary whose states to exit; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Maximum time to wait for cash that other flows have locked, in milliseconds; 30000 if left out.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Whether the change goes to a fresh key of this node; if left out, it goes to the key that the network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

primitives::record!(ExitArgs {
    currency,
    quantity,
    issuer,
    reference,
    notary,
    deadline_ms,
    anonymous
});

/// Removes cash from circulation. This node has issued the cash and holds it.
#[derive(Debug)]
pub struct ExitCash;

impl Flow for ExitCash {
    const NAME: &'static str = "cash.exit";
    const VERSION: u32 = 1;
    type Args = ExitArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &[
        "selecting cash",
        "building",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: ExitArgs) -> Result<CashResult, FlowError> {
        if let Some(issuer) = &args.issuer
            && party(&ctx, issuer)?.id() != ctx.my_id()
        {
            return Err(CashError::NotTheIssuer.into());
        }
        if args.quantity == 0 {
            return Err(CashError::ZeroAmount.into());
        }
        let choice = TokenChoice {
            token: None,
            currency: Some(args.currency),
            issuer: None,
            reference: args.reference,
        };
        let notary = notary(&ctx, args.notary.as_ref())?.clone();

        ctx.progress("selecting cash");
        let token = choice.resolve(&ctx)?;
        let deadline_ms = args.deadline_ms.unwrap_or(SELECTION_DEADLINE_MS);
        let inputs = select_cash(&ctx, &token, args.quantity, &notary, deadline_ms).await?;

        ctx.progress("building");
        let change_to = change_key(&ctx, args.anonymous).await?;
        let spending = cash_builder::exit(notary, &inputs, args.quantity, &change_to)?;
        let signed = build_and_sign(&ctx, spending.builder, &spending.owners).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &[]).await?;
        Ok(CashResult { transaction })
    }
}
