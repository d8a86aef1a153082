//! What the node has recorded: the order of transactions, and each of them readable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vault::Fungible;

/// The answer of `GET /v1/ledger`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerPage {
    /// In order of recording.
    pub entries: Vec<LedgerEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A recorded transaction's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerEntry {
    /// Its position.
    pub seq: u64,
    /// Its id.
    pub id: String,
}

/// The answer of `GET /v1/transactions/{id}/chain`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainPage {
    /// The transactions that this one comes from, and itself; the last recorded first.
    pub entries: Vec<ChainEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A transaction of a back chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainEntry {
    /// Its position in this node's ledger.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// The transactions whose outputs it consumes or refers to.
    pub depends_on: Vec<String>,
}

/// The answer of `GET /v1/transactions/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionView {
    /// Its id: the Merkle root over its component groups.
    pub id: String,
    /// Its position in this node's ledger.
    pub seq: u64,
    /// States it consumes, `transaction(index)`.
    pub inputs: Vec<String>,
    /// States it only refers to.
    pub references: Vec<String>,
    /// States it makes.
    pub outputs: Vec<StateView>,
    /// What it asks of its contracts.
    pub commands: Vec<CommandView>,
    /// Hashes of its attachments, contract descriptors among them.
    pub attachments: Vec<String>,
    /// Its notary's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notary: Option<String>,
    /// When it may be notarised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_window: Option<TimeWindowView>,
    /// Hash of the network parameters it was built under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
    /// Keys whose signatures it needs, the notary's aside.
    pub required_signers: Vec<String>,
    /// The signatures it carries.
    pub signatures: Vec<SignatureView>,
    /// The whole transaction as it is carried, hexadecimal.
    pub bytes: String,
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateView {
    /// Its index.
    pub index: u32,
    /// Its contract.
    pub contract: String,
    /// What code may decide about it.
    pub constraint: String,
    /// Its notary's name.
    pub notary: String,
    /// The output that must be consumed together with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encumbrance: Option<u32>,
    /// Keys of those whom it concerns, if the contract is known here.
    pub participants: Vec<String>,
    /// Its owner's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its owner's name, where this node knows whose the key is: by the network map, as a fresh key of its own, or by a proof that
    /// the owner gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_party: Option<String>,
    /// Its value, if it is fungible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fungible: Option<Fungible>,
    /// The thing it is a version of, if it is linear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_id: Option<String>,
    /// The contract's own data, hexadecimal.
    pub data: String,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandView {
    /// Its contract.
    pub contract: String,
    /// The contract's own value, hexadecimal.
    pub value: String,
    /// Keys that must sign for it.
    pub signers: Vec<String>,
}

/// `[from, until)`, at least one of them given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeWindowView {
    /// Not before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ms: Option<u64>,
    /// Before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
}

/// A signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignatureView {
    /// The key.
    pub by: String,
    /// Whose key it is, if the network map knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub party: Option<String>,
    /// The scheme.
    pub scheme: String,
    /// How many transactions the notary signed with the same signature, for a notary's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// The signature, hexadecimal.
    pub bytes: String,
}
