//! What a notary has seen consumed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/notary/consumed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsumedPage {
    /// In order of state reference.
    pub entries: Vec<ConsumedEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A consumed state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsumedEntry {
    /// As the ledger writes it: the transaction id, then the index in parentheses.
    pub state_ref: String,
    /// The transaction that consumed it.
    pub consumed_by: String,
}
