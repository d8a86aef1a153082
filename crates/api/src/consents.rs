//! The contracts of a node's binary, and the transitions of other parties that the node signs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/contracts`: all registered contracts, in order of name and version.
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
    /// The hash of its descriptor, which identifies the code in transactions and upgrades.
    pub descriptor: String,
    /// The key that signed the descriptor.
    pub signer: String,
    /// Whether it is the newest version here, which this node's new states use.
    pub current: bool,
    /// The constraint of new states.
    pub constraint: ConstraintView,
}

/// The constraint of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintView {
    /// Exactly this version. Newer code needs an upgrade with the consent of every party that a state concerns.
    Version,
    /// Any version that the same key has signed, never an older one.
    Signer,
}

/// The answer of `GET /v1/consents`: the transitions of other parties that the node signs. Flows started on this node do not
/// need them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentList {
    /// Changes of notary.
    pub notary_changes: NotaryConsent,
    /// The upgrades that are signed; all others are refused.
    pub upgrades: Vec<UpgradeConsent>,
}

/// The consent to changes of notary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotaryConsent {
    /// Whether changes of notary are signed.
    pub accepted: bool,
    /// The setting in the configuration.
    pub configured: bool,
    /// The user who changed it while the node ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The time of that change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
}

/// An authorised upgrade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradeConsent {
    /// The hash of the descriptor of the current code.
    pub from: String,
    /// The hash of the descriptor of the new code.
    pub to: String,
    /// The contract and version of the old code, if it is registered here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_contract: Option<String>,
    /// The contract and version of the new code, if it is registered here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_contract: Option<String>,
    /// Whether the configuration authorises it.
    pub configured: bool,
    /// The user who authorised it while the node ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The time of the authorisation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
}

/// The body of `POST /v1/consents/upgrades`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUpgrade {
    /// The hash of the descriptor of the current code: 64 hexadecimal digits.
    #[schemars(length(min = 64, max = 64), regex(pattern = "^[0-9a-fA-F]{64}$"))]
    pub from: String,
    /// The hash of the descriptor of the new code: 64 hexadecimal digits.
    #[schemars(length(min = 64, max = 64), regex(pattern = "^[0-9a-fA-F]{64}$"))]
    pub to: String,
}

/// The body of `PATCH /v1/consents`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsentChange {
    /// The new setting for changes of notary.
    pub notary_changes: NotaryChanges,
}

/// A setting for changes of notary that other parties propose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotaryChanges {
    /// Sign all of them.
    Accept,
    /// Sign none of them.
    Refuse,
    /// Follow the configuration.
    Configured,
}
