//! Flows that have ended, as the node's history keeps them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flows::{FlowFailure, FlowRecord, FlowStatus, RawJson};

/// A query for ended flows, which must match all given fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowHistoryQuery {
    /// Their status: `finalised`, `failed` or `killed`.
    pub status: Option<FlowStatus>,
    /// Only flows that failed or were killed.
    pub failed: bool,
    /// The registered name.
    pub flow: Option<String>,
    /// The code of their failure.
    pub code: Option<String>,
    /// The user who started them here.
    pub user: Option<String>,
    /// The legal name of a counterparty.
    pub peer: Option<String>,
    /// The earliest end, in milliseconds since the Unix epoch.
    pub since_ms: Option<u64>,
    /// The time before which they ended, in milliseconds since the Unix epoch.
    pub until_ms: Option<u64>,
}

/// A page of ended flows.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FlowHistory {
    /// The flows, the last one that ended first.
    pub flows: Vec<EndedFlow>,
    /// Give this as `after` for the next page; absent on the last one. A page may be empty and have a next one nevertheless, because the
    /// node reads a bounded number of flows for each page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An ended flow.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EndedFlow {
    /// The flow.
    pub flow_id: String,
    /// `finalised`, `failed` or `killed`. The history does not tell whether a finalised flow is delivered; a question for the flow
    /// does.
    pub status: FlowStatus,
    /// Its start and its end.
    #[serde(flatten)]
    pub record: FlowRecord,
    /// Its output, if it succeeded. Absent if the output is larger than 4 KiB, or if the node has the flow's version no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// The reason for its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FlowFailure>,
    /// The transactions it recorded, in order, at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<String>,
}
