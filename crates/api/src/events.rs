//! Server-sent events: a flow's progress, and changes of the vault.
//!
//! Each event has a `type` (in the field `event`), an `id`, and one line of JSON. A line that begins with a colon is a
//! heartbeat without content.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vault::Fungible;

/// The flow's state at the start of the stream; the data is an [`crate::Outcome`].
pub const STATE: &str = "state";
/// The flow reached a step; the data is a [`FlowStep`].
pub const STEP: &str = "step";
/// The flow cannot continue by itself, and the events end; the data is an [`crate::Outcome`].
pub const PARKED: &str = "parked";
/// The flow has succeeded, and the events end; the data is an [`crate::Outcome`].
pub const END: &str = "end";
/// The flow has failed or was killed, and the events end; the data is a [`crate::Problem`].
pub const FAILED: &str = "failed";
/// The events end early; the data is a [`crate::Problem`] with the reason.
pub const CUT: &str = "cut";
/// The start of the changes of the vault that follow; the data is a [`VaultStart`].
pub const START: &str = "start";
/// A transaction changed the vault; the data is a [`VaultChange`].
pub const CHANGE: &str = "change";

/// The flow reached a step. A step may be reported twice, even after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowStep {
    /// The current step.
    pub step: String,
}

/// The start of the changes of the vault that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VaultStart {
    /// Changes after this ledger position follow.
    pub after: u64,
}

/// The changes of one recorded transaction in the vault. Its event's id is `seq`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VaultChange {
    /// The transaction's position in the ledger.
    pub seq: u64,
    /// The transaction.
    pub transaction: String,
    /// The time at which it was recorded.
    pub recorded_at_ms: u64,
    /// States of this node that it consumed: the transaction id, then the index in parentheses.
    pub consumed: Vec<String>,
    /// States of this node that it made.
    pub produced: Vec<ProducedState>,
}

/// A state that a transaction made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProducedState {
    /// The transaction id, then the index in parentheses.
    pub state_ref: String,
    /// Its contract.
    pub contract: String,
    /// Its value, if it is fungible and this node's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fungible: Option<Fungible>,
    /// The id shared by its versions, if it is linear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_id: Option<String>,
    /// Values of the columns that its contract declares, as text: numbers in decimal digits, bytes in hexadecimal digits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, String>,
    /// The notary's name.
    pub notary: String,
}
