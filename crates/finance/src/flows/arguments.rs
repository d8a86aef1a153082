//! Shared arguments of the cash flows.

use flow::{FlowContext, FlowError};
use ledger::{
    LegalName, Party, SelectionRequest, StateAndRef, TokenId, TransactionSignature, TxId,
};
use primitives::{PublicKey, SignatureContext};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CashError, Currency, IssuedToken, Reference};

/// Default time to wait for cash that other flows have locked, in milliseconds.
pub(crate) const SELECTION_DEADLINE_MS: u64 = 30_000;

/// The result of a cash flow. Encoded as `[transaction id]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CashResult {
    /// The transaction.
    pub transaction: TxId,
}

primitives::record!(CashResult { transaction });

/// A choice of token: either its id, or a currency with its issuer (this node, if left out) and reference (none, if left
/// out).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenChoice {
    /// The token's id.
    pub token: Option<TokenId>,
    /// The currency.
    pub currency: Option<Currency>,
    /// The issuer.
    pub issuer: Option<LegalName>,
    /// The issuer's reference.
    pub reference: Option<Reference>,
}

impl TokenChoice {
    /// Returns the token.
    pub(crate) fn resolve(&self, ctx: &FlowContext) -> Result<Wanted, FlowError> {
        match (self.token, self.currency) {
            (Some(id), None) if self.issuer.is_none() && self.reference.is_none() => {
                Ok(Wanted { id, name: None })
            }
            (None, Some(currency)) => {
                let issuer = match &self.issuer {
                    Some(name) => party(ctx, name)?,
                    None => ctx.me(),
                };
                let reference = self.reference.clone().unwrap_or_default();
                Ok(Wanted::from(&IssuedToken {
                    issuer: issuer.clone(),
                    reference,
                    currency,
                }))
            }
            _ => Err(CashError::TokenAmbiguous.into()),
        }
    }
}

/// The token of cash that a flow wants to spend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    id: TokenId,
    /// The currency and its issuer, if the flow knows more than the id.
    name: Option<String>,
}

impl From<&IssuedToken> for Wanted {
    fn from(token: &IssuedToken) -> Self {
        let mut name = format!("{} issued by {}", token.currency, token.issuer.name);
        if token.reference != Reference::default() {
            name.push_str(&format!(" under reference {}", token.reference));
        }
        Self {
            id: token.id(),
            name: Some(name),
        }
    }
}

/// Selects and locks cash for a flow. The text of a failure names the currency and the issuer instead of the token's id: people know
/// no ids.
pub(crate) async fn select_cash(
    ctx: &FlowContext,
    token: &Wanted,
    quantity: u64,
    notary: &Party,
    deadline_ms: u64,
) -> Result<Vec<StateAndRef>, FlowError> {
    let request = SelectionRequest {
        token: token.id,
        quantity,
        notary: Some(notary.id()),
        deadline_ms,
    };
    let selected = ctx.select_states(request).await;
    selected.map_err(|mut error| {
        if let Some(name) = &token.name {
            let id = format!("token {}", token.id);
            error.message = error.message.replace(&id, name);
        }
        error
    })
}

/// Returns a party of the network by its name.
pub(crate) fn party<'a>(ctx: &'a FlowContext, name: &LegalName) -> Result<&'a Party, FlowError> {
    let unknown = || FlowError::from(CashError::UnknownParty(name.to_string()));
    ctx.network().by_name(name).ok_or_else(unknown)
}

/// Returns the notary of this name, or the network's default.
pub(crate) fn notary<'a>(
    ctx: &'a FlowContext,
    name: Option<&LegalName>,
) -> Result<&'a Party, FlowError> {
    let Some(name) = name else {
        return ctx.notary();
    };
    let notary = party(ctx, name)?;
    if ctx.network().is_notary(&notary.id()) {
        Ok(notary)
    } else {
        Err(CashError::NotANotary(name.to_string()).into())
    }
}

/// Signs a transaction with keys of this node.
pub(crate) async fn signatures(
    ctx: &FlowContext,
    id: &TxId,
    keys: &[PublicKey],
) -> Result<Vec<TransactionSignature>, FlowError> {
    let mut signatures = Vec::with_capacity(keys.len());
    for key in keys {
        let signature = ctx
            .sign(key, SignatureContext::Transaction, id.hash())
            .await?;
        signatures.push(TransactionSignature {
            by: key.clone(),
            signature,
            batch: None,
        });
    }
    Ok(signatures)
}
