//! Flows that states have scheduled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/schedule`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulePage {
    /// Those that wait, the next one first; then those that could not be started.
    pub entries: Vec<ScheduleEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A flow that a state has scheduled. Once it is started, or the state is consumed, the entry is gone; what came of the start
/// is kept under the client id `TRANSACTION:INDEX` of the user `schedule`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleEntry {
    /// The state: the transaction id, then the index in parentheses.
    pub state_ref: String,
    /// The flow's name, as the state has it.
    pub flow: String,
    /// When it is to be started.
    pub at_ms: u64,
    /// Where it stands.
    pub status: ScheduleStatus,
    /// Why it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<crate::FlowFailure>,
}

/// Where a scheduled flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleStatus {
    /// Its time has not come.
    Waiting,
    /// Its time has come, and it waits for a place.
    Due,
    /// It could not be started.
    Refused,
}

impl ScheduleStatus {
    /// As JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Due => "due",
            Self::Refused => "refused",
        }
    }
}
