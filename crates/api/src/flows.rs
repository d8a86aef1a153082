//! Starts flows and reports their outcomes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A failure of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowCause {
    /// Its code, description and suggested action.
    #[serde(flatten)]
    pub error: FlowFailure,
    /// The time of the failure, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Its number among consecutive failures at this place of the flow, from 1.
    pub attempt: u32,
}

/// A wait of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowWait {
    /// The kind of the effect, such as `request` or `select states`; `message` for a session.
    pub what: String,
    /// The party that has to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The subject of the wait: a service, a transaction, a token, an operation, or a time in milliseconds since the Unix
    /// epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The time since which it waits, in milliseconds since the Unix epoch; not before the node's start.
    pub since_ms: u64,
}

/// JSON that is passed on as written, without a second parse.
pub type RawJson = Box<RawValue>;

/// The event that a caller waits for.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Until the flow is *accepted*.
    None,
    /// Until the flow is *finalised*, or has failed.
    #[default]
    Finalised,
    /// Until the flow is *delivered*, or has failed.
    Delivered,
}

impl Wait {
    /// Returns the form in JSON and in a query.
    pub fn as_str(self) -> &'static str {
        match self {
            Wait::None => "none",
            Wait::Finalised => "finalised",
            Wait::Delivered => "delivered",
        }
    }
}

impl std::str::FromStr for Wait {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Wait::None, Wait::Finalised, Wait::Delivered]
            .into_iter()
            .find(|wait| wait.as_str() == text)
            .ok_or_else(|| format!("'{text}' is not one of none, finalised and delivered"))
    }
}

/// The body of `POST /v1/flows`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartFlow {
    /// The flow's registered name, such as `cash.issue`.
    pub flow: String,
    /// The version; the newest if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The flow's arguments.
    #[serde(default = "null")]
    pub args: RawJson,
    /// An id chosen by the caller that makes the start exactly once: a repeated start with the same id gives the same
    /// flow's outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub client_id: Option<String>,
    /// The event to wait for.
    #[serde(default)]
    pub wait: Wait,
    /// Maximum time to wait, in milliseconds; the node's own limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

fn null() -> RawJson {
    RawValue::NULL.to_owned()
}

impl StartFlow {
    /// Starts the newest version of a flow, waits until it is finalised, and has no client id.
    pub fn new(flow: impl Into<String>, args: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self {
            flow: flow.into(),
            version: None,
            args: serde_json::value::to_raw_value(args)?,
            client_id: None,
            wait: Wait::default(),
            timeout_ms: None,
        })
    }

    /// Waits for an event other than *finalised*.
    #[must_use]
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Makes the start exactly once.
    #[must_use]
    pub fn client_id(mut self, client_id: impl Into<String>) -> Self {
        self.client_id = Some(client_id.into());
        self
    }

    /// Limits the wait to this many milliseconds.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = Some(timeout_ms);
        self
    }
}

/// The life of a flow.
///
/// ```text
///   accepted ──► running ──► finalised ──► delivered
///                 │  ▲ └────► failed, killed
///                 ▼  │
///        retrying, parked, paused
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowStatus {
    /// Its start is durable on this node: a crash does not lose it.
    Accepted,
    /// It runs.
    Running,
    /// It had a transient failure, and is retried automatically.
    Retrying,
    /// It cannot continue by itself; `step` gives the reason. An operator retries or kills it.
    Parked,
    /// An operator paused it, or the node did because its data is an older copy. It goes on when an operator resumes it.
    Paused,
    /// It succeeded. Its transactions are final, and durable on this node; participants may not have recorded them yet.
    Finalised,
    /// It succeeded, and every participant has recorded its transactions.
    Delivered,
    /// It ended with an error.
    Failed,
    /// A client or an operator ended it.
    Killed,
}

impl FlowStatus {
    /// Returns the form in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            FlowStatus::Accepted => "accepted",
            FlowStatus::Running => "running",
            FlowStatus::Retrying => "retrying",
            FlowStatus::Parked => "parked",
            FlowStatus::Paused => "paused",
            FlowStatus::Finalised => "finalised",
            FlowStatus::Delivered => "delivered",
            FlowStatus::Failed => "failed",
            FlowStatus::Killed => "killed",
        }
    }

    /// Returns whether the flow has ended.
    pub fn is_end(self) -> bool {
        self.is_success() || matches!(self, FlowStatus::Failed | FlowStatus::Killed)
    }

    /// Returns whether the flow has succeeded.
    pub fn is_success(self) -> bool {
        matches!(self, FlowStatus::Finalised | FlowStatus::Delivered)
    }

    /// Returns whether the flow takes no step until an operator acts.
    pub fn stands_still(self) -> bool {
        matches!(self, FlowStatus::Parked | FlowStatus::Paused)
    }
}

/// The state of a flow: the answer to a start or to a query for the flow, and (with `n`) an answer of the stream form. If the request
/// waits for a flow that fails, the answer is a `Problem` instead.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The flow; 32 hexadecimal digits.
    pub flow_id: String,
    /// Its status.
    pub status: FlowStatus,
    /// Its output, if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// The reason for its failure, if the request has not waited for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FlowFailure>,
    /// Its last step while it runs, or the reason why it is parked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The transactions it recorded, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<String>,
    /// Transactions that participants refused permanently; the flow will not become `delivered`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<DeliveryRefusal>,
    /// Participants that have not answered for its transactions yet, by legal name. Their deliveries are repeated until they answer.
    /// The node tracks 100,000 unanswered transactions; of further ones it lists none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undelivered: Vec<String>,
    /// The start and the end of an ended flow. Only a question for the flow is answered with it, while the history keeps the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Box<FlowRecord>>,
}

/// The start and the end of an ended flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowRecord {
    /// Its registered name; absent if its journal could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The version that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Whether it was started on this node, and not by a counterparty.
    pub started_here: bool,
    /// The user who started it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The client id of its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The other parties of its sessions, by legal name, at most 64. The counterparty that started it comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    /// The time at which it started, in milliseconds since the Unix epoch; absent if it was cancelled before it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<u64>,
    /// The time at which it ended, in milliseconds since the Unix epoch. It is before the start if the clock was set back meanwhile.
    pub ended_at_ms: u64,
    /// The size of its output in bytes, if it is too large for the history, which then does not keep the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
}

/// A participant refused to record a transaction. The transaction is final nevertheless.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryRefusal {
    /// The transaction.
    pub transaction: String,
    /// The participant's name.
    pub party: String,
    /// The stable code, `domain.snake_case`.
    pub code: String,
    /// The participant's message.
    pub message: String,
    /// The participant's suggested action.
    pub hint: String,
}

/// An error with a stable code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowFailure {
    /// The stable code, `domain.snake_case`.
    pub code: String,
    /// Description of the failure.
    pub message: String,
    /// Suggested action.
    pub hint: String,
    /// The delay before a retry, in milliseconds, if a retry makes sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// A page of live flows.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FlowList {
    /// The flows, in order of id.
    pub flows: Vec<FlowSummary>,
    /// Give this as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A live flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSummary {
    /// The flow.
    pub flow_id: String,
    /// Its registered name, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The version it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// `running`, `retrying`, `parked` or `paused`.
    pub status: FlowStatus,
    /// Its last step, or the reason why it takes none.
    pub step: String,
    /// Whether it was started on this node, and not by a counterparty.
    pub started_here: bool,
    /// The user who started it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The time at which it started, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<u64>,
    /// The time of its last step, or of the node's start if later, in milliseconds since the Unix epoch; while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_at_ms: Option<u64>,
    /// The time of its next retry, in milliseconds since the Unix epoch; while it is retrying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<u64>,
    /// Whether a kill waits for a notary's answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kill_asked: bool,
    /// The other parties of its sessions and requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    /// Its current waits, while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<FlowWait>,
    /// The number of its failures so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u64,
    /// Its failures, oldest first: the first one and the latest ones, at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FlowCause>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(json: &str) -> String {
        serde_json::from_str::<StartFlow>(json)
            .expect_err(json)
            .to_string()
    }

    #[test]
    fn a_start_has_defaults() {
        let start: StartFlow = serde_json::from_str(r#"{"flow":"a.b"}"#).expect("good");
        assert_eq!((start.wait, start.args.get()), (Wait::Finalised, "null"));
        assert_eq!(
            (start.version, start.client_id, start.timeout_ms),
            (None, None, None)
        );
    }

    #[test]
    fn what_is_not_a_start() {
        assert!(refused("{}").contains("missing field `flow`"));
        assert!(
            refused(r#"{"flow":"a","arg":1}"#).contains("unknown field `arg`, expected one of")
        );
        assert!(refused(r#"{"flow":"a","wait":"long"}"#).contains("unknown variant `long`"));
        assert!(refused(r#"{"flow":"a","version":-1}"#).contains("invalid value"));
    }

    #[test]
    fn arguments_pass_as_written() {
        let text = r#"{"flow":"a.b","args":{"b": 1,  "a":[2]},"wait":"delivered"}"#;
        let start: StartFlow = serde_json::from_str(text).expect("good");
        assert_eq!(start.args.get(), r#"{"b": 1,  "a":[2]}"#);
        let again = serde_json::to_string(&start).expect("good");
        assert_eq!(again, text);
    }

    #[test]
    fn waits_are_words() {
        for wait in [Wait::None, Wait::Finalised, Wait::Delivered] {
            assert_eq!(wait.as_str().parse(), Ok(wait));
        }
        assert!("x".parse::<Wait>().is_err());
    }
}
