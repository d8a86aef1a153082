//! What a notary has seen consumed, and who asked it.

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

/// The answer of `GET /v1/notary/requests`: transactions that the notary has signed, and who asked for that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestPage {
    /// In order of transaction id.
    pub entries: Vec<RequestEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A request that was granted, as it was stored in the commit that consumed the transaction's inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestEntry {
    /// The transaction.
    pub transaction: String,
    /// Who asked first: a legal name, or the party's id if the network does not list it any more.
    pub requester: String,
    /// The requester's party id.
    pub requester_id: String,
    /// The key that signed the request.
    pub key: String,
    /// The signature over the transaction's id and the notary, in hexadecimal: the requester's word that it asked.
    pub signature: String,
    /// When the request arrived, on the notary's clock.
    pub at_ms: u64,
}
