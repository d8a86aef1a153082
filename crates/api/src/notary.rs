//! The states that a notary has recorded as consumed, and the parties that requested it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/notary/consumed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsumedPage {
    /// The entries, in order of state reference.
    pub entries: Vec<ConsumedEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A consumed state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsumedEntry {
    /// The state in the ledger's form: the transaction id, then the index in parentheses.
    pub state_ref: String,
    /// The transaction that consumed it.
    pub consumed_by: String,
}

/// The answer of `GET /v1/notary/requests`: transactions that the notary has signed, and the parties that requested it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestPage {
    /// The entries, in order of transaction id.
    pub entries: Vec<RequestEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A granted request, as stored in the commit that consumed the transaction's inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestEntry {
    /// The transaction.
    pub transaction: String,
    /// The first requester: a legal name, or the party's id if the network does not list it any more.
    pub requester: String,
    /// The requester's party id.
    pub requester_id: String,
    /// The key that signed the request.
    pub key: String,
    /// The requester's signature over the transaction's id and the notary, in hexadecimal: proof of the request.
    pub signature: String,
    /// The time at which the request arrived, by the notary's clock.
    pub at_ms: u64,
}
