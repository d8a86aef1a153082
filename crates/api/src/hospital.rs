//! Flows that do not finish: queries, failures and orders of operators.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flows::{FlowFailure, FlowStatus, FlowSummary, RawJson};

/// A query for live flows, which must match all given fields. Used as `where` of an order, and as parameters of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowQuery {
    /// Their status: `running`, `retrying`, `parked` or `paused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<FlowStatus>,
    /// The registered name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The code of one of their failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The user who started them here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The legal name of a party on the other side of a session or a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Minimum time since their start, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than_ms: Option<u64>,
    /// Minimum time without a step, in milliseconds. Flows that only wait for a point in time do not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_ms: Option<u64>,
}

/// The body of `POST /v1/flows/retry`, `/pause`, `/resume` and `/kill`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowOrder {
    /// The flows to match. The order is executed only for those with a fitting status. Retry fits parked and retrying flows;
    /// pause fits running and retrying ones. Resume fits paused flows and those that have not come back since the node's start.
    /// Kill fits all.
    #[serde(rename = "where")]
    pub query: FlowQuery,
    /// Whether to count the flows only.
    #[serde(default)]
    pub dry_run: bool,
    /// `next` of the previous answer: continues after that flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The result of an order for many flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowOrdered {
    /// Flows that the order matches, at most 1,000 in one answer.
    pub matched: u64,
    /// The matched flows that the order was executed for; none in a dry run.
    pub done: u64,
    /// The matched flows that wait for a notary's answer first, which they cannot give up.
    pub waiting: u64,
    /// The first 100 matched flows.
    pub flows: Vec<String>,
    /// Present if there are more flows: repeat the order with this as `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A part of a live flow's journal.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FlowJournal {
    /// The flow.
    pub flow: FlowSummary,
    /// Its entries in the order of their rows; large values only by their size and SHA-256.
    pub entries: Vec<JournalEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}

/// An entry of a flow's journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct JournalEntry {
    /// The row of the entry. All inputs of one round are in one row.
    pub row: u32,
    /// The kind of entry: `start`, `result`, `fact`, `opened`, `received`, `peer_ended`, `confirmed`, `sub_flow_ended`,
    /// `kill_asked`, `scope`, `check`, `deferred` or `unreadable`.
    pub entry: String,
    /// The number of the effect or session, within its scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The scope: 0 is the flow itself, others are its sub-flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<u32>,
    /// The kind of the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The digest of the request, 16 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The party on the other side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The size of a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The SHA-256 of a value, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// A value whose type is known: the arguments of the start, a number, a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<RawJson>,
    /// States by their references.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<String>,
    /// A transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    /// A failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FlowFailure>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_its_flows() {
        let text = r#"{"where":{"status":"parked","code":"flow.panicked"},"dry_run":true}"#;
        let order: FlowOrder = serde_json::from_str(text).expect("good");
        assert_eq!(order.query.status, Some(FlowStatus::Parked));
        assert_eq!(serde_json::to_string(&order).expect("good"), text);
        for bad in [
            "{}",
            r#"{"where":{"name":"a"}}"#,
            r#"{"where":{},"dry":true}"#,
        ] {
            assert!(serde_json::from_str::<FlowOrder>(bad).is_err(), "{bad}");
        }
    }
}
