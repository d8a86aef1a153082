//! `obligation.issue`: makes a debt of this node.

use flow::library::build_and_sign;
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, TransactionBuilder};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Hash, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::result::{ObligationResult, finish};
use crate::flows::agreed::TokenArgs;
use crate::flows::anonymous::receiving_key;
use crate::flows::arguments::{notary, party};
use crate::obligation::{ObligationCommand, ObligationError, ObligationState, TOKENS_MAX, builder};

/// Arguments of `obligation.issue`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueObligationArgs {
    /// The obligee.
    pub to: LegalName,
    /// The quantity, in minor units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The cash that settles it, any of these tokens; 1 to 16.
    pub tokens: Vec<TokenArgs>,
    /// The due time, in milliseconds since 1970.
    pub due: Timestamp,
    /// The notary of the obligation; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Whether it is owed to a fresh key, which the obligee proves only to this node; if left out, it is owed to the key that
    /// the network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

impl Encode for IssueObligationArgs {
    fn encode(&self, e: &mut Encoder) {
        e.array(6);
        self.to.encode(e);
        e.u64(self.quantity);
        self.tokens.encode(e);
        self.due.encode(e);
        self.notary.encode(e);
        self.anonymous.encode(e);
    }
}

impl Decode for IssueObligationArgs {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(6)?;
        Ok(Self {
            to: LegalName::decode(d)?,
            quantity: d.u64()?,
            tokens: d.vec_of(TOKENS_MAX)?,
            due: Timestamp::decode(d)?,
            notary: Option::decode(d)?,
            anonymous: Option::decode(d)?,
        })
    }
}

/// Makes a debt of this node to another party.
#[derive(Debug)]
pub struct IssueObligation;

impl Flow for IssueObligation {
    const NAME: &'static str = "obligation.issue";
    const VERSION: u32 = 1;
    type Args = IssueObligationArgs;
    type Output = ObligationResult;
    const STEPS: &'static [&'static str] = &[
        "building",
        "asking for a fresh key",
        "receiving a fresh key",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(
        ctx: FlowContext,
        args: IssueObligationArgs,
    ) -> Result<ObligationResult, FlowError> {
        ctx.progress("building");
        let to = party(&ctx, &args.to)?.clone();
        let (quantity, me) = (args.quantity, ctx.me().clone());
        if quantity == 0 {
            let owed = 0;
            return Err(ObligationError::Quantity { quantity, owed }.into());
        }
        let tokens = args.tokens.iter().map(|token| token.resolve(&ctx));
        let mut tokens = tokens.collect::<Result<Vec<_>, FlowError>>()?;
        tokens.sort_unstable();
        tokens.dedup();
        if tokens.is_empty() || tokens.len() > TOKENS_MAX {
            return Err(ObligationError::Count.into());
        }
        if to.id() == ctx.my_id() {
            return Err(ObligationError::OwnDebt.into());
        }
        let state = ObligationState {
            id: Hash::from_bytes(ctx.random32()?),
            obligor: me.clone(),
            tokens,
            due: args.due,
            quantity,
            defaulted: false,
            obligee: receiving_key(&ctx, &to, args.anonymous).await?,
        };
        let notary = notary(&ctx, args.notary.as_ref())?.clone();
        let command = ObligationCommand::Issue(vec![state.id]);
        let made = builder::make(TransactionBuilder::new(notary), &state);
        let made = builder::command(made, &command, vec![me.key.clone()]);
        let signed = build_and_sign(&ctx, made, &[me.key]).await?;
        finish(&ctx, signed, &state, Some(&state)).await
    }
}
