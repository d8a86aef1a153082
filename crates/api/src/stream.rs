//! The stream form, for busy clients: one long `POST /v1/stream`, with one JSON object per line in both directions.
//!
//! ```text
//! client ─► {"n":1,"flow":"cash.pay","args":{..},"wait":"delivered"}
//! client ─► {"n":2,"flow":"cash.pay","args":{..},"wait":"finalised","client_id":"x7"}
//!           {"n":2,"flow_id":"..","status":"finalised","result":{..},"transactions":[".."]} ◄─ node
//!           {"n":1,"problem":{"type":"..","title":"..","status":503,"detail":"..","code":"node.busy","hint":"..","retry_after_ms":20}} ◄─ node
//! ```
//! `n` is the client's own number and comes back with the answer. Answers come in any order, one for each line. A line
//! that is not a start is answered with `n` if it has one, else with `null`. Empty lines are ignored. The node stops
//! reading while the maximum number of starts is outstanding. It ends the stream after the client has ended its side and
//! every start is answered.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::flows::{DeliveryRefusal, FlowStatus, Outcome, RawJson, Wait};
use crate::problem::Problem;

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
    /// As in [`Outcome`]; absent if the flow failed or was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_id: Option<String>,
    /// As in [`Outcome`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<FlowStatus>,
    /// As in [`Outcome`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// As in [`Outcome`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<String>,
    /// As in [`Outcome`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<DeliveryRefusal>,
    /// As in [`Outcome`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undelivered: Vec<String>,
    /// The failure of the flow, or the reason why no flow was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Box<Problem>>,
}

impl StreamAnswer {
    /// Returns the outcome of a flow, its failure, or the reason why none was started.
    pub fn into_outcome(self) -> Result<Outcome, Box<Problem>> {
        match (self.flow_id, self.status) {
            (Some(flow_id), Some(status)) => Ok(Outcome {
                flow_id,
                status,
                result: self.result,
                error: None,
                step: None,
                transactions: self.transactions,
                refused: self.refused,
                undelivered: self.undelivered,
                record: None,
            }),
            _ => Err(self.problem.unwrap_or_else(|| {
                Box::new(Problem::new(
                    502,
                    "Bad Gateway",
                    "client.bad_answer",
                    "an answer without a status and without a problem",
                    "check that the node and the client are of the same release",
                ))
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
            r#"{"n":1,"flow_id":"00","status":"finalised","result":{"a":1},"transactions":["11"]}"#;
        let answer: StreamAnswer = serde_json::from_str(text).expect("good");
        let outcome = answer.into_outcome().expect("an outcome");
        assert_eq!(
            (outcome.status, outcome.transactions.len()),
            (FlowStatus::Finalised, 1)
        );
        let text = r#"{"n":null,"problem":{"type":"t","title":"T","status":503,"detail":"m","code":"node.busy","hint":"h","retry_after_ms":5}}"#;
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
