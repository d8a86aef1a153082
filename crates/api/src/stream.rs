//! The stream form, for busy clients: one long `POST /v1/stream`, with one JSON object per line in both directions.
//!
//! ```text
//! client ─► {"n":1,"flow":"cash.pay","args":{..},"wait":"delivered"}
//! client ─► {"n":2,"flow":"cash.pay","args":{..},"wait":"finalised","client_id":"x7"}
//!           {"n":2,"flow_id":"..","status":"completed","result":{..},"transactions":[".."]} ◄─ node
//!           {"n":1,"error":{"code":"node.busy","message":"..","hint":"..","retry_after_ms":20}} ◄─ node
//! ```
//! `n` is the client's own number and comes back with the answer. Answers come in any order, one for each line. A line
//! that is not a start is answered with `n` if it has one, else with `null`. Empty lines are ignored. The node stops
//! reading while the maximum number of starts is outstanding. It ends the stream after the client has ended its side and
//! every start is answered.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::flows::{DeliveryRefusal, FlowFailure, FlowStatus, Outcome, RawJson, Wait};

/// A line from the client.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamStart<'a> {
    /// The client's number for the start.
    pub n: u64,
    /// As in [`crate::StartFlow`].
    #[serde(borrow)]
    pub flow: Cow<'a, str>,
    /// As in [`crate::StartFlow`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// As in [`crate::StartFlow`].
    #[serde(borrow, default = "null")]
    pub args: &'a RawValue,
    /// As in [`crate::StartFlow`].
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub client_id: Option<Cow<'a, str>>,
    /// As in [`crate::StartFlow`].
    #[serde(default)]
    pub wait: Wait,
}

fn null() -> &'static RawValue {
    RawValue::NULL
}

/// A line from the node.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StreamAnswer {
    /// The client's number; `None` for a line without one.
    pub n: Option<u64>,
    /// As in [`Outcome`]; absent if no flow was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_id: Option<String>,
    /// As in [`Outcome`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<FlowStatus>,
    /// As in [`Outcome`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// The reason why no flow was started, or why the flow failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FlowFailure>,
    /// As in [`Outcome`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<String>,
    /// As in [`Outcome`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<DeliveryRefusal>,
}

impl StreamAnswer {
    /// Returns the outcome of a started flow, or the reason why none was started.
    pub fn into_outcome(self) -> Result<Outcome, FlowFailure> {
        match (self.flow_id, self.status) {
            (Some(flow_id), Some(status)) => Ok(Outcome {
                flow_id,
                status,
                result: self.result,
                error: self.error,
                step: None,
                transactions: self.transactions,
                refused: self.refused,
            }),
            _ => Err(self.error.unwrap_or_else(|| FlowFailure {
                code: "client.bad_answer".to_owned(),
                message: "an answer without a status and without an error".to_owned(),
                hint: "check that the node and the client are of the same release".to_owned(),
                retry_after_ms: None,
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_borrows_from_its_text() {
        let text = r#"{"n":7,"flow":"cash.pay","args":{"x":1},"wait":"delivered","client_id":"a"}"#;
        let start: StreamStart<'_> = serde_json::from_str(text).expect("good");
        assert!(matches!(start.flow, Cow::Borrowed("cash.pay")));
        assert_eq!(
            (start.n, start.args.get(), start.wait),
            (7, r#"{"x":1}"#, Wait::Delivered)
        );
        assert!(serde_json::from_str::<StreamStart<'_>>(r#"{"n":7,"flow":"a","m":1}"#).is_err());
    }

    #[test]
    fn an_answer_is_an_outcome_or_a_failure() {
        let text =
            r#"{"n":1,"flow_id":"00","status":"completed","result":{"a":1},"transactions":["11"]}"#;
        let answer: StreamAnswer = serde_json::from_str(text).expect("good");
        let outcome = answer.into_outcome().expect("an outcome");
        assert_eq!(
            (outcome.status, outcome.transactions.len()),
            (FlowStatus::Completed, 1)
        );
        let text = r#"{"n":null,"error":{"code":"node.busy","message":"m","hint":"h","retry_after_ms":5}}"#;
        let answer: StreamAnswer = serde_json::from_str(text).expect("good");
        assert_eq!(
            answer.into_outcome().expect_err("a failure").retry_after_ms,
            Some(5)
        );
        let answer: StreamAnswer = serde_json::from_str(r#"{"n":1}"#).expect("parses");
        assert_eq!(
            answer.into_outcome().expect_err("nothing said").code,
            "client.bad_answer"
        );
    }
}
