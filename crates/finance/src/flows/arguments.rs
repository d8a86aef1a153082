//! What the arguments of the cash flows have in common.

use flow::{FlowContext, FlowError};
use ledger::{LegalName, Party, TokenId, TransactionSignature, TxId};
use primitives::{PublicKey, SignatureContext};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CashError, Currency, IssuedToken, Reference};

/// How long to wait for cash that other flows have locked, unless the caller says otherwise.
pub(crate) const SELECTION_DEADLINE_MS: u64 = 30_000;

/// What a cash flow returns. Encoded as `[transaction id]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CashResult {
    /// The transaction.
    pub transaction: TxId,
}

primitives::record!(CashResult { transaction });

/// Which token: either its id, or a currency with its issuer (this node, if left out) and reference (none, if left out).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenChoice {
    /// The token's id.
    pub token: Option<TokenId>,
    /// The currency.
    pub currency: Option<Currency>,
    /// Who issued it.
    pub issuer: Option<LegalName>,
    /// The issuer's reference.
    pub reference: Option<Reference>,
}

impl TokenChoice {
    /// The token's id.
    pub(crate) fn resolve(&self, ctx: &FlowContext) -> Result<TokenId, FlowError> {
        match (self.token, self.currency) {
            (Some(id), None) if self.issuer.is_none() && self.reference.is_none() => Ok(id),
            (None, Some(currency)) => {
                let issuer = match &self.issuer {
                    Some(name) => party(ctx, name)?,
                    None => ctx.me(),
                };
                let reference = self.reference.clone().unwrap_or_default();
                Ok(IssuedToken {
                    issuer: issuer.clone(),
                    reference,
                    currency,
                }
                .id())
            }
            _ => Err(CashError::TokenAmbiguous.into()),
        }
    }
}

/// A party of the network by its name.
pub(crate) fn party<'a>(ctx: &'a FlowContext, name: &LegalName) -> Result<&'a Party, FlowError> {
    let unknown = || FlowError::from(CashError::UnknownParty(name.to_string()));
    ctx.network().by_name(name).ok_or_else(unknown)
}

/// The notary of this name, or the network's default.
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

/// Signatures of a transaction by keys of this node.
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
