//! The recorded transactions: their order, and each of them in readable form.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vault::Fungible;

/// The answer of `GET /v1/ledger`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerPage {
    /// The entries, in order of recording.
    pub entries: Vec<LedgerEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The position of a recorded transaction.
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
    /// The transactions in the back chain of this one, and itself; the last recorded first.
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
    /// The time at which this node recorded it.
    pub recorded_at_ms: u64,
    /// States it consumes, `transaction(index)`.
    pub inputs: Vec<String>,
    /// States it only refers to.
    pub references: Vec<String>,
    /// States it makes.
    pub outputs: Vec<StateView>,
    /// Its commands to contracts.
    pub commands: Vec<CommandView>,
    /// Hashes of its attachments, contract descriptors among them.
    pub attachments: Vec<String>,
    /// Its notary's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notary: Option<String>,
    /// The time window of its notarisation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_window: Option<TimeWindowView>,
    /// Hash of the network parameters it was built under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
    /// Keys that must sign it, except the notary's.
    pub required_signers: Vec<NamedKey>,
    /// The signatures it carries.
    pub signatures: Vec<SignatureView>,
    /// The whole transaction in the form that nodes exchange, in hexadecimal.
    pub bytes: String,
}

/// A key with the name of its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedKey {
    /// The key.
    pub key: String,
    /// The name of its owner, if this node knows the owner: from the network map, as a fresh key of its own, or by a proof that the
    /// owner gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub party: Option<String>,
}

impl NamedKey {
    /// Returns the owner's name, or the key if the owner is unknown.
    pub fn name(&self) -> &str {
        self.party.as_deref().unwrap_or(&self.key)
    }
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateView {
    /// Its index.
    pub index: u32,
    /// Its contract.
    pub contract: String,
    /// The constraint on the code that decides about it.
    pub constraint: String,
    /// Its notary's name.
    pub notary: String,
    /// The output that must be consumed together with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encumbrance: Option<u32>,
    /// Keys of the participants, if the contract is known here.
    pub participants: Vec<NamedKey>,
    /// Its owner's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<NamedKey>,
    /// Its value, if it is fungible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fungible: Option<Fungible>,
    /// The id shared by its versions, if it is linear.
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
    /// The name of the operation, such as `issue`, if the contract is known here and describes its commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The fields that the contract describes, as text: numbers in decimal digits, hashes in hexadecimal digits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
    /// The contract's own value, hexadecimal.
    pub value: String,
    /// Keys that must sign for it.
    pub signers: Vec<NamedKey>,
}

/// The time window `[from, until)`; at least one end is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeWindowView {
    /// The begin, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ms: Option<u64>,
    /// The end, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
}

/// A signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignatureView {
    /// The key that signed.
    pub by: NamedKey,
    /// The scheme.
    pub scheme: String,
    /// For a notary's signature: the number of transactions that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// The signature, hexadecimal.
    pub bytes: String,
}
