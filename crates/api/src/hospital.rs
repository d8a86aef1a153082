//! Flows that do not finish: which they are, what happened to them, and what an operator does with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flows::{FlowFailure, FlowStatus, FlowSummary, RawJson};

/// Which live flows: those that meet everything that is given. As `where` of an order, and as parameters of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowQuery {
    /// Where they stand: `running`, `retrying`, `parked` or `paused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<FlowStatus>,
    /// The registered name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The code of one of their failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Who started them here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The legal name of a party on the other side of a session or a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Started at least so many milliseconds ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than_ms: Option<u64>,
    /// Waiting without a step for at least so many milliseconds, for something that is not just a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_ms: Option<u64>,
}

/// The body of `POST /v1/flows/retry`, `/pause`, `/resume` and `/kill`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowOrder {
    /// Which flows. Of these the order is for those whose status it fits: retry for parked and retrying ones, pause for running
    /// and retrying ones, resume for paused ones and those that have not come back since the node's start, kill for all.
    #[serde(rename = "where")]
    pub query: FlowQuery,
    /// Only count them.
    #[serde(default)]
    pub dry_run: bool,
    /// `next` of the answer before: goes on after that flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What became of an order for many flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowOrdered {
    /// Flows that it is for, at most 1,000 in one answer.
    pub matched: u64,
    /// Of them, those with which it was done; none in a dry run.
    pub done: u64,
    /// Of them, those that wait for a notary's answer first, which cannot be given up.
    pub waiting: u64,
    /// The first 100 of them.
    pub flows: Vec<String>,
    /// There are more: order again with this as `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A failure of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowCause {
    /// Its code, what happened and what to do.
    #[serde(flatten)]
    pub error: FlowFailure,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Which failure in a row at this place of the flow, from 1.
    pub attempt: u32,
}

/// Something that a flow waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowWait {
    /// The kind of the effect, such as `request` or `select states`; `message` for a session.
    pub what: String,
    /// The party that has to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// What it is about: a service, a transaction, a token, an operation, or a time in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Since when, in milliseconds since the Unix epoch; not before the node's start.
    pub since_ms: u64,
}

/// A part of a live flow's journal.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FlowJournal {
    /// The flow.
    pub flow: FlowSummary,
    /// Its entries in the order of their rows; large values by their size and SHA-256 only.
    pub entries: Vec<JournalEntry>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}

/// An entry of a flow's journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct JournalEntry {
    /// The row it stands in; what came in one round is one row.
    pub row: u32,
    /// What it is: `start`, `result`, `fact`, `opened`, `received`, `peer_ended`, `confirmed`, `sub_flow_ended`,
    /// `kill_asked`, `scope`, `check`, `deferred`, or `unreadable`.
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
    /// The digest of what was asked, 16 hexadecimal digits.
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
