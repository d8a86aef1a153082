//! The network as the node knows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/network`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkView {
    /// Hash of the network parameters.
    pub parameters: String,
    /// Largest message between nodes, in bytes.
    pub max_message_bytes: u64,
    /// Largest transaction, in bytes.
    pub max_transaction_bytes: u64,
    /// When the parameters were issued.
    pub issued_at_ms: u64,
    /// The notaries' names.
    pub notaries: Vec<String>,
    /// Every node of the map, in order of name.
    pub nodes: Vec<PartyView>,
}

/// A party and its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartyView {
    /// The legal name.
    pub name: String,
    /// The party's id.
    pub party_id: String,
    /// The party's key.
    pub key: String,
    /// Where its node is reached by other nodes.
    pub addresses: Vec<String>,
    /// What kind of notary it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notary: Option<NotaryView>,
}

/// A notary's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotaryView {
    /// Whether it sees and checks whole transactions.
    pub validating: bool,
}
