//! `cash.pay`: pays one or several parties.

use flow::library::finality;
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, PartyId, SelectionRequest, TokenId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};
use serde::{Deserialize, Serialize};

use super::arguments::{SELECTION_DEADLINE_MS, build_and_sign, notary, party};
use super::{CashResult, TokenChoice};
use crate::{CashError, Currency, Portion, Reference, cash_builder};

/// Most payments in one transaction.
pub const PAYMENTS_MAX: usize = 1_000;

/// One payment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payment {
    /// Who gets it.
    pub to: LegalName,
    /// How much, in minor units.
    pub quantity: u64,
    /// In how many states, as equal as can be; 1 if left out.
    #[serde(default)]
    pub states: Option<u32>,
}

primitives::record!(Payment {
    to,
    quantity,
    states
});

/// Arguments of `cash.pay`: either `token`, or `currency` and perhaps `issuer` and `reference`. Encoded as an array of the
/// fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayArgs {
    /// The id of the token.
    #[serde(default)]
    pub token: Option<TokenId>,
    /// The currency.
    #[serde(default)]
    pub currency: Option<Currency>,
    /// Who issued the cash; this node, if left out.
    #[serde(default)]
    pub issuer: Option<LegalName>,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// Whom to pay how much; at least one payment, at most 1000.
    pub payments: Vec<Payment>,
    /// The notary whose states to spend; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// How long to wait for cash that other flows have locked, in milliseconds; 30000 if left out.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
}

impl Encode for PayArgs {
    fn encode(&self, e: &mut Encoder) {
        e.array(7);
        self.token.encode(e);
        self.currency.encode(e);
        self.issuer.encode(e);
        self.reference.encode(e);
        self.payments.encode(e);
        self.notary.encode(e);
        self.deadline_ms.encode(e);
    }
}

impl Decode for PayArgs {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(7)?;
        Ok(Self {
            token: Option::decode(d)?,
            currency: Option::decode(d)?,
            issuer: Option::decode(d)?,
            reference: Option::decode(d)?,
            payments: d.vec_of(PAYMENTS_MAX)?,
            notary: Option::decode(d)?,
            deadline_ms: Option::decode(d)?,
        })
    }
}

/// Pays one or several parties from cash of one token; the change comes back as one state.
#[derive(Debug)]
pub struct PayCash;

impl Flow for PayCash {
    const NAME: &'static str = "cash.pay";
    const VERSION: u32 = 1;
    type Args = PayArgs;
    type Output = CashResult;

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

        ctx.progress("selecting cash");
        let request = SelectionRequest {
            token,
            quantity,
            notary: Some(notary.id()),
            deadline_ms: args.deadline_ms.unwrap_or(SELECTION_DEADLINE_MS),
        };
        let inputs = ctx.select_states(request).await?;

        ctx.progress("building");
        let spending = cash_builder::pay(notary, &inputs, &portions, &ctx.me().key)?;
        let signed = build_and_sign(&ctx, spending.builder, &spending.owners).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &payees).await?;
        Ok(CashResult { transaction })
    }
}
