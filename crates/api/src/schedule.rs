//! Flows that states have scheduled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/schedule`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulePage {
    /// The waiting flows, the next one first; then those that could not be started.
    pub entries: Vec<ScheduleEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A flow that a state has scheduled. The entry is removed when the flow is started or the state is consumed. The outcome of
/// the start is kept under the client id `TRANSACTION:INDEX` of the user `schedule`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleEntry {
    /// The state: the transaction id, then the index in parentheses.
    pub state_ref: String,
    /// The flow's name, as written in the state.
    pub flow: String,
    /// The time of the start.
    pub at_ms: u64,
    /// Its status.
    pub status: ScheduleStatus,
    /// The reason why it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<crate::FlowFailure>,
}

/// The status of a scheduled flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleStatus {
    /// Its time has not come.
    Waiting,
    /// Its time has come, and it waits for a free place.
    Due,
    /// It could not be started.
    Refused,
}

impl ScheduleStatus {
    /// Returns the form in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Due => "due",
            Self::Refused => "refused",
        }
    }
}
