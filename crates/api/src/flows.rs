//! Starting a flow and learning what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::hospital::{FlowCause, FlowWait};
use crate::problem::Problem;

/// JSON that is passed on as it was written, without a second parse.
pub type RawJson = Box<RawValue>;

/// How long a caller waits for a flow.
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
    /// Until the start is durable.
    None,
    /// Until the flow has ended and what it recorded is durable here.
    #[default]
    Finalised,
    /// Until every participant has recorded what the flow recorded.
    Delivered,
}

impl Wait {
    /// As it is written in JSON and in a query.
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
            .ok_or_else(|| format!("'{text}' is none of none, finalised, delivered"))
    }
}

/// The body of `POST /v1/flows`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartFlow {
    /// The flow's registered name, such as `cash.issue`.
    pub flow: String,
    /// A version; the newest if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The flow's arguments.
    #[serde(default = "null")]
    pub args: RawJson,
    /// A name of the caller's choice that makes the start exactly once: the same id again gives the same flow's outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub client_id: Option<String>,
    /// What to wait for.
    #[serde(default)]
    pub wait: Wait,
    /// How long to wait at most, in milliseconds; the node's own limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

fn null() -> RawJson {
    RawValue::NULL.to_owned()
}

impl StartFlow {
    /// The newest version of a flow, waited for until finalised, without a client id.
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

    /// Waits for something else than *finalised*.
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

    /// Waits at most so long.
    #[must_use]
    pub fn timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = Some(timeout_ms);
        self
    }
}

/// Most starts in one batch (`api.bad_batch`).
pub const BATCH_STARTS_MAX: usize = 256;

/// The body of `POST /v1/flows/batch`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartBatch {
    /// 1 to 256 starts, each as in `POST /v1/flows`; they are started in this order, and run side by side.
    #[schemars(length(min = 1, max = 256), with = "Vec<StartFlow>")]
    pub starts: Vec<RawJson>,
}

impl StartBatch {
    /// A batch of these.
    pub fn new(starts: &[StartFlow]) -> Result<Self, serde_json::Error> {
        let starts = starts.iter().map(serde_json::value::to_raw_value);
        Ok(Self {
            starts: starts.collect::<Result<_, _>>()?,
        })
    }
}

/// The answer of `POST /v1/flows/batch`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchAnswers {
    /// One for each start, in the order of the starts.
    pub answers: Vec<BatchAnswer>,
}

/// What a start of a batch came to: what it would have been answered alone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchAnswer {
    /// The HTTP status that the start would have had alone: 200, 202, or a problem's.
    pub status: u16,
    /// What became of the flow; absent when nothing was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why nothing was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowStatus {
    /// It runs.
    Running,
    /// It failed for the moment, and is tried again by itself.
    Retrying,
    /// It cannot go on by itself; `step` says why. An operator retries or kills it.
    Parked,
    /// An operator paused it.
    Paused,
    /// It ended well; what it recorded is durable here: *finalised*.
    Completed,
    /// It ended well, and every participant has recorded what it recorded.
    Delivered,
    /// It ended with an error.
    Failed,
}

impl FlowStatus {
    /// As it is written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            FlowStatus::Running => "running",
            FlowStatus::Retrying => "retrying",
            FlowStatus::Parked => "parked",
            FlowStatus::Paused => "paused",
            FlowStatus::Completed => "completed",
            FlowStatus::Delivered => "delivered",
            FlowStatus::Failed => "failed",
        }
    }

    /// Whether the flow is over.
    pub fn is_end(self) -> bool {
        matches!(
            self,
            FlowStatus::Completed | FlowStatus::Delivered | FlowStatus::Failed
        )
    }

    /// Whether it takes no step until an operator does something.
    pub fn stands_still(self) -> bool {
        matches!(self, FlowStatus::Parked | FlowStatus::Paused)
    }
}

/// What became of a flow: the answer to a start, to a question for it, and (with `n`) of the stream form.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The flow; 32 hexadecimal digits.
    pub flow_id: String,
    /// Where it stands.
    pub status: FlowStatus,
    /// Its output, if it ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FlowFailure>,
    /// Its last step, while it runs, or why it is parked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The transactions it recorded, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<String>,
    /// What participants refused to record of them, for good: it will not be `delivered`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<DeliveryRefusal>,
}

/// A participant refused to record a transaction. The transaction is final all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryRefusal {
    /// The transaction.
    pub transaction: String,
    /// The participant's name.
    pub party: String,
    /// Stable, `domain.snake_case`.
    pub code: String,
    /// What the participant says.
    pub message: String,
    /// What to do, as it says.
    pub hint: String,
}

/// An error with a stable code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowFailure {
    /// Stable, `domain.snake_case`.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// When to try again, in milliseconds, if that is the thing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// A page of live flows.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FlowList {
    /// In order of id.
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
    /// Its last step, or why it takes none.
    pub step: String,
    /// Whether it was started here, and not by a counterparty.
    pub started_here: bool,
    /// Who started it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// When it started, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<u64>,
    /// When it took its last step, or the node started, in milliseconds since the Unix epoch; while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_at_ms: Option<u64>,
    /// When it is tried again, in milliseconds since the Unix epoch; while it is retrying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<u64>,
    /// It is to be killed, and waits for a notary's answer first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kill_asked: bool,
    /// The parties that it deals with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    /// What it waits for, while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<FlowWait>,
    /// How often it failed so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u64,
    /// Its failures, oldest first: the first one, and the latest; 8 at most.
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
