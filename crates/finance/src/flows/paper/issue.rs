//! `paper.issue`: issues a promise of this node to pay a face value at maturity.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, TimeWindow};
use primitives::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flows::agreed::{StateResult, TokenArgs, WINDOW_MS, output_of};
use crate::flows::anonymous::receiving_key;
use crate::flows::arguments::{notary, party};
use crate::paper::{PaperError, PaperState, builder, paper_name};
use crate::{CashError, Reference};

/// Arguments of `paper.issue`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssuePaperArgs {
    /// The face value, in minor units.
    #[serde(with = "primitives::QuantityInput")]
    pub face: u64,
    /// The cash that it is redeemed in.
    pub token: TokenArgs,
    /// The maturity: the start of redemption, in milliseconds since 1970.
    pub maturity: Timestamp,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// The recipient; this node, if left out.
    #[serde(default)]
    pub recipient: Option<LegalName>,
    /// The notary of the paper; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Whether it goes to a fresh key, which its owner proves only to this node; if left out, it goes to the key that the
    /// network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

primitives::record!(IssuePaperArgs {
    face,
    token,
    maturity,
    reference,
    recipient,
    notary,
    anonymous
});

/// Issues a promise of this node to pay a face value at maturity.
#[derive(Debug)]
pub struct IssuePaper;

impl Flow for IssuePaper {
    const NAME: &'static str = "paper.issue";
    const VERSION: u32 = 1;
    type Args = IssuePaperArgs;
    type Output = StateResult;
    const STEPS: &'static [&'static str] = &[
        "building",
        "asking for a fresh key",
        "receiving a fresh key",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: IssuePaperArgs) -> Result<StateResult, FlowError> {
        ctx.progress("building");
        if args.face == 0 {
            return Err(CashError::ZeroAmount.into());
        }
        let recipient = match &args.recipient {
            Some(name) => party(&ctx, name)?.clone(),
            None => ctx.me().clone(),
        };
        let now = ctx.now();
        if args.maturity <= now {
            return Err(PaperError::IssuedAfterMaturity.into());
        }
        let paper = PaperState {
            issuer: ctx.me().clone(),
            reference: args.reference.unwrap_or_default(),
            token: args.token.resolve(&ctx)?,
            face: args.face,
            maturity: args.maturity,
            owner: receiving_key(&ctx, &recipient, args.anonymous).await?,
        };
        let notary = notary(&ctx, args.notary.as_ref())?.clone();
        // A window beyond the end of time does not end.
        let end = now.plus_ms(WINDOW_MS).unwrap_or(Timestamp::MAX);
        let window = TimeWindow::until(end.min(args.maturity));
        let builder = builder::issue(notary, &paper, window);
        let signed = build_and_sign(&ctx, builder, &[ctx.me().key.clone()]).await?;
        let state = output_of(&signed, paper_name());
        finality(&ctx, signed, &[recipient.id()]).await?;
        Ok(StateResult {
            state,
            transaction: state.tx,
        })
    }
}
