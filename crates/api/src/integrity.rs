//! Contradictions between a node's own data and its notaries or peers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/equivocations`: transactions that this node refused because its ledger records another consumer of
/// a state, although the notary signed both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EquivocationPage {
    /// In order of the refused transaction's id.
    pub entries: Vec<EquivocationEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Proof that a notary signed two consumers of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EquivocationEntry {
    /// A state that both transactions consume.
    pub state_ref: String,
    /// The notary that signed both: its legal name.
    pub notary: String,
    /// The transaction that this node's ledger records.
    pub recorded: String,
    /// The transaction that was refused.
    pub refused: String,
    /// The peer that brought it: a legal name, or a party id if the network does not list it any more. Absent if no peer did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought_by: Option<String>,
    /// The time of the refusal.
    pub at_ms: u64,
    /// The proof in hexadecimal: both tear-offs for the notary with its signatures. `tally notary check-proof` checks it
    /// without a node.
    pub proof: String,
}
