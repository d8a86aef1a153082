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

/// The answer of `GET /v1/recovery`, and of the orders for recovery: contradictions between the node's data and the data that
/// others have seen of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryView {
    /// The number of times that the node was started on this data.
    pub life: u64,
    /// Transactions recorded and, by a notary, transactions accepted.
    pub number: u64,
    /// Proof that the data is an older copy; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<RollbackView>,
    /// Contradictions about session messages, each reported by one peer alone. They do not stop the node.
    pub links: Vec<LinkView>,
    /// The last recovery that was started since the node's start; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryProgress>,
}

/// Proof that a node's data is an older copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RollbackView {
    /// An item that this node has signed and that its data does not contain.
    pub evidence: String,
    /// The peer that showed it: a legal name, or a party id if the network does not list it any more.
    pub shown_by: String,
    /// The time of that.
    pub at_ms: u64,
    /// The time at which the last transaction of the copy was recorded. Client ids of starts between then and the restore are
    /// unknown to the node: repeating such a start executes it again.
    pub data_until_ms: u64,
}

/// A contradiction by the word of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkView {
    /// The peer.
    pub peer: String,
    /// The time at which it connected.
    pub at_ms: u64,
    /// The contradiction.
    pub finding: String,
}

/// The progress of a recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryProgress {
    /// The time at which it began.
    pub begun_ms: u64,
    /// Whether every peer has sent all its transactions that concern this node.
    pub complete: bool,
    /// All other nodes.
    pub peers: Vec<RecoveryPeer>,
    /// Transactions recorded since it began.
    pub recorded: u64,
    /// The last of them, at most 1,000.
    pub transactions: Vec<String>,
    /// By a notary: transactions entered again that it had signed.
    pub notarised: u64,
    /// By a notary: states with a conflict, because peers showed another consumer than the one entered.
    pub conflicts: u64,
}

/// The progress of the recovery from one peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryPeer {
    /// The peer.
    pub peer: String,
    /// `asked`, `done` or `refused`.
    pub progress: String,
    /// The reason of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last position of its ledger that it has searched.
    pub searched: u64,
    /// The last position of its ledger.
    pub end: u64,
    /// Transactions found there that concern this node, including those that it already has.
    pub found: u64,
}

/// The body of `POST /v1/recovery/finish`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishRecovery {
    /// Whether to end the recovery although some peers have not sent everything.
    #[serde(default)]
    pub accept_missing: bool,
}
