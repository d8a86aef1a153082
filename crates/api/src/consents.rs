//! The contracts of a node's binary, and which transitions of others the node signs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/contracts`: all that are registered, in order of name and version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractList {
    /// The contracts.
    pub contracts: Vec<ContractView>,
}

/// A version of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractView {
    /// The contract's name.
    pub name: String,
    /// The version of its code.
    pub version: u32,
    /// The hash of its descriptor, which names the code in transactions and upgrades.
    pub descriptor: String,
    /// The key that signed the descriptor.
    pub signer: String,
    /// Whether new states of this node are made under it: it is the newest version here.
    pub current: bool,
    /// What new states are bound to.
    pub constraint: ConstraintView,
}

/// What states are bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintView {
    /// Exactly this version: newer code needs an upgrade to which all whom a state concerns consent.
    Version,
    /// Any version that the same key has signed, never an older one.
    Signer,
}

/// The answer of `GET /v1/consents`: which transitions of others the node signs. Flows that are started here need none of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentList {
    /// Changes of notary.
    pub notary_changes: NotaryConsent,
    /// Upgrades that are signed; no others are.
    pub upgrades: Vec<UpgradeConsent>,
}

/// Whether changes of notary are signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotaryConsent {
    /// Whether they are.
    pub accepted: bool,
    /// What the configuration says.
    pub configured: bool,
    /// Who said otherwise while the node ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
}

/// An upgrade that is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradeConsent {
    /// The hash of the descriptor of the code that states are under.
    pub from: String,
    /// Of the code that they come under.
    pub to: String,
    /// The contract and version of the old code, if it is registered here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_contract: Option<String>,
    /// The contract and version of the new code, if it is registered here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_contract: Option<String>,
    /// Whether the configuration authorises it.
    pub configured: bool,
    /// Who authorised it while the node ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
}

/// The body of `POST /v1/consents/upgrades`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUpgrade {
    /// The hash of the descriptor of the code that states are under: 64 hexadecimal digits.
    #[schemars(length(min = 64, max = 64), regex(pattern = "^[0-9a-f]{64}$"))]
    pub from: String,
    /// Of the code that they come under.
    #[schemars(length(min = 64, max = 64), regex(pattern = "^[0-9a-f]{64}$"))]
    pub to: String,
}

/// The body of `PATCH /v1/consents`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsentChange {
    /// What to do with changes of notary.
    pub notary_changes: NotaryChanges,
}

/// What to do with changes of notary that others propose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotaryChanges {
    /// Sign them.
    Accept,
    /// Sign none.
    Refuse,
    /// What the configuration says.
    Configured,
}
