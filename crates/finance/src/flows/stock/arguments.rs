//! A stock in the arguments of flows.

use crate::flows::arguments::party;
use crate::stock::{StockToken, Symbol};
use flow::{FlowContext, FlowError};
use ledger::LegalName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stock in arguments: its symbol with its issuer (this node, if left out).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StockArgs {
    /// The symbol.
    pub symbol: Symbol,
    /// The issuer; this node, if left out.
    #[serde(default)]
    pub issuer: Option<LegalName>,
}

primitives::record!(StockArgs { symbol, issuer });

impl StockArgs {
    /// Returns the token.
    pub(crate) fn resolve(&self, ctx: &FlowContext) -> Result<StockToken, FlowError> {
        let issuer = match &self.issuer {
            Some(name) => party(ctx, name)?,
            None => ctx.me(),
        };
        Ok(StockToken {
            issuer: issuer.clone(),
            symbol: self.symbol.clone(),
        })
    }
}
