//! `cash.pay`: pays one or several parties.

use flow::library::{build_and_sign, finality, request_key, window_of_ms};
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, PartyId, TokenId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{SELECTION_DEADLINE_MS, notary, party, select_cash};
use super::{CashResult, TokenChoice};
use crate::{CashError, Currency, Portion, Reference, cash_builder};

/// Maximum number of payments in one transaction.
pub const PAYMENTS_MAX: usize = 1_000;

/// The arguments that are always encoded. Journals of earlier versions have these alone.
const FIELDS: usize = 8;

/// One payment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Payment {
    /// The recipient.
    pub to: LegalName,
    /// The quantity, in minor units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The number of states, of quantities as equal as possible; 1 if left out.
    #[serde(default)]
    pub states: Option<u32>,
}

primitives::record!(Payment {
    to,
    quantity,
    states
});

/// Arguments of `cash.pay`: either `token`, or `currency` and optionally `issuer` and `reference`. Encoded as an array of the
/// fields in their order, absent ones null; `window_ms` is left out if it is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PayArgs {
    /// The id of the token.
    #[serde(default)]
    pub token: Option<TokenId>,
    /// The currency.
    #[serde(default)]
    pub currency: Option<Currency>,
    /// The issuer of the cash; this node, if left out.
    #[serde(default)]
    pub issuer: Option<LegalName>,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// The payments, 1 to 1000.
    pub payments: Vec<Payment>,
    /// The notary whose states to spend; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Maximum time to wait for cash that other flows have locked, in milliseconds; 30000 if left out.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Whether fresh keys are used: each payment goes to one that its payee proves only to this node, and the change to one
    /// of this node. If left out, all go to the keys that the network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
    /// Time in which the notary has to sign, in milliseconds: the payment gets a time window that ends then. It has none if left out.
    #[serde(default)]
    pub window_ms: Option<u64>,
}

impl Encode for PayArgs {
    fn encode(&self, e: &mut Encoder) {
        e.array(FIELDS + usize::from(self.window_ms.is_some()));
        self.token.encode(e);
        self.currency.encode(e);
        self.issuer.encode(e);
        self.reference.encode(e);
        self.payments.encode(e);
        self.notary.encode(e);
        self.deadline_ms.encode(e);
        self.anonymous.encode(e);
        if let Some(window_ms) = self.window_ms {
            window_ms.encode(e);
        }
    }
}

impl Decode for PayArgs {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let has_window = d.array_with_later(FIELDS)?;
        Ok(Self {
            token: Option::decode(d)?,
            currency: Option::decode(d)?,
            issuer: Option::decode(d)?,
            reference: Option::decode(d)?,
            payments: d.vec_of(PAYMENTS_MAX)?,
            notary: Option::decode(d)?,
            deadline_ms: Option::decode(d)?,
            anonymous: Option::decode(d)?,
            window_ms: match has_window {
                true => Some(u64::decode(d)?),
                false => None,
            },
        })
    }
}

/// Pays one or several parties from cash of one token. The change comes back as one state.
#[derive(Debug)]
pub struct PayCash;

impl Flow for PayCash {
    const NAME: &'static str = "cash.pay";
    const VERSION: u32 = 1;
    type Args = PayArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &[
        "selecting cash",
        "building",
        "asking for fresh keys",
        "receiving a fresh key",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: PayArgs) -> Result<CashResult, FlowError> {
        if args.payments.is_empty() {
            return Err(CashError::NoPayment.into());
        }
        let choice = TokenChoice {
            token: args.token,
            currency: args.currency,
            issuer: args.issuer,
            reference: args.reference,
        };
        let token = choice.resolve(&ctx)?;
        let notary = notary(&ctx, args.notary.as_ref())?.clone();
        let mut portions = Vec::with_capacity(args.payments.len());
        let mut payees: Vec<PartyId> = Vec::with_capacity(args.payments.len());
        for payment in &args.payments {
            let payee = party(&ctx, &payment.to)?;
            payees.push(payee.id());
            portions.push(Portion {
                owner: payee.key.clone(),
                quantity: payment.quantity,
                states: payment.states.unwrap_or(1),
            });
        }
        let quantity = cash_builder::total(&portions)?;
        let anonymous = args.anonymous.unwrap_or(false);
        if anonymous {
            hide_payees(&ctx, &payees, &mut portions).await?;
        }

        ctx.progress("selecting cash");
        let deadline_ms = args.deadline_ms.unwrap_or(SELECTION_DEADLINE_MS);
        let inputs = select_cash(&ctx, &token, quantity, &notary, deadline_ms).await?;

        ctx.progress("building");
        let mut spending = cash_builder::pay(notary.clone(), &inputs, &portions, &ctx.me().key)?;
        if anonymous && spending.change > 0 {
            let change_to = ctx.fresh_key().await?;
            spending = cash_builder::pay(notary, &inputs, &portions, &change_to)?;
        }
        let builder = match args.window_ms {
            Some(ms) => spending.builder.time_window(window_of_ms(&ctx, ms)),
            None => spending.builder,
        };
        let signed = build_and_sign(&ctx, builder, &spending.owners).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &payees).await?;
        Ok(CashResult { transaction })
    }
}

/// Asks every payee for a fresh key, in parallel, and replaces the owners of the portions by these keys.
async fn hide_payees(
    ctx: &FlowContext,
    payees: &[PartyId],
    portions: &mut [Portion],
) -> Result<(), FlowError> {
    ctx.progress("asking for fresh keys");
    let mut asked = Vec::with_capacity(payees.len());
    for payee in payees {
        asked.push(match *payee == ctx.my_id() {
            true => None,
            false => Some(ctx.open_session(payee)?),
        });
    }
    for (session, portion) in asked.iter().zip(portions) {
        portion.owner = match session {
            Some(session) => request_key(ctx, session).await?,
            None => ctx.fresh_key().await?,
        };
    }
    Ok(())
}
