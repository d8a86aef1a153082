//! `cash.issue_and_pay`: issues cash and pays it to a recipient.

use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, TxId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IssueArgs, IssueCash, PayArgs, PayCash, Payment};
use crate::{Currency, Reference};

/// Arguments of `cash.issue_and_pay`. Encoded as an array of the fields in their order, absent ones null; `window_ms` is left out if it is
/// absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueAndPayArgs {
    /// The currency, such as `GBP`.
    pub currency: Currency,
    /// The quantity, in minor units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// The recipient of the payment.
    pub recipient: LegalName,
    /// The number of states that the recipient gets; 1 if left out.
    #[serde(default)]
    pub states: Option<u32>,
    /// The notary; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Whether both transactions use fresh keys. The issued cash then goes to a fresh key of this node, and the payment to a
    /// fresh key that the recipient proves only to this node. If left out, both go to the keys that the network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
    /// Time in which the notary has to sign the payment, in milliseconds: it gets a time window that ends then. It has none if left out.
    #[serde(default)]
    pub window_ms: Option<u64>,
}

primitives::record!(IssueAndPayArgs {
    currency,
    quantity,
    reference,
    recipient,
    states,
    notary,
    anonymous;
    window_ms
});

/// The result of `cash.issue_and_pay`. Encoded as `[issue, payment]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueAndPayResult {
    /// The transaction that issued the cash.
    pub issue: TxId,
    /// The transaction that paid it.
    pub payment: TxId,
}

primitives::record!(IssueAndPayResult { issue, payment });

/// Issues cash that this node owes and pays the same amount in a second transaction.
#[derive(Debug)]
pub struct IssueAndPayCash;

impl Flow for IssueAndPayCash {
    const NAME: &'static str = "cash.issue_and_pay";
    const VERSION: u32 = 1;
    type Args = IssueAndPayArgs;
    type Output = IssueAndPayResult;
    const STEPS: &'static [&'static str] = &[
        "building",
        "verifying",
        "recording",
        "selecting cash",
        "notarising",
        "asking for fresh keys",
        "receiving a fresh key",
    ];

    async fn run(ctx: FlowContext, args: IssueAndPayArgs) -> Result<IssueAndPayResult, FlowError> {
        let issue = IssueArgs {
            currency: args.currency,
            quantity: args.quantity,
            reference: args.reference.clone(),
            outputs: None,
            recipient: None,
            notary: args.notary.clone(),
            anonymous: args.anonymous,
        };
        let issued = ctx.sub_flow::<IssueCash>(issue).await?;
        let pay = PayArgs {
            token: None,
            currency: Some(args.currency),
            issuer: None,
            reference: args.reference,
            payments: vec![Payment {
                to: args.recipient,
                quantity: args.quantity,
                states: args.states,
            }],
            notary: args.notary,
            deadline_ms: None,
            anonymous: args.anonymous,
            window_ms: args.window_ms,
        };
        let paid = ctx.sub_flow::<PayCash>(pay).await?;
        Ok(IssueAndPayResult {
            issue: issued.transaction,
            payment: paid.transaction,
        })
    }
}
