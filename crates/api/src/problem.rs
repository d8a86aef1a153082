//! The body of every answer that is not a success: RFC 9457 with a stable code and a hint. The failure of a flow that was waited for
//! is one too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flows::{DeliveryRefusal, FlowFailure, FlowStatus, Outcome};

/// The media type of a [`Problem`].
pub const PROBLEM_JSON: &str = "application/problem+json";

/// An error and the suggested action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// `urn:tally:error:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The HTTP status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// Description of this occurrence.
    pub detail: String,
    /// The stable code, `domain.snake_case`; `docs/errors` describes each.
    pub code: String,
    /// Suggested action.
    pub hint: String,
    /// The delay before a retry, in milliseconds, if a retry makes sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The flow, if the problem is the end of a flow; 32 hexadecimal digits. Without it the code says whether a flow may have been
    /// started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_id: Option<String>,
    /// The status of that flow: `failed` or `killed`; `finalised` or `delivered` if only its result cannot be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_status: Option<FlowStatus>,
    /// The transactions that this flow recorded before it failed, in order. They are final.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<String>,
    /// Refusals of these transactions by participants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<DeliveryRefusal>,
    /// Participants that have not answered for these transactions yet, by legal name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undelivered: Vec<String>,
}

impl Problem {
    /// Creates a problem with its `type` derived from the code.
    pub fn new(
        status: u16,
        title: impl Into<String>,
        code: impl Into<String>,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let code = code.into();
        Self {
            kind: format!("urn:tally:error:{code}"),
            title: title.into(),
            status,
            detail: detail.into(),
            code,
            hint: hint.into(),
            retry_after_ms: None,
            flow_id: None,
            flow_status: None,
            transactions: Vec::new(),
            refused: Vec::new(),
            undelivered: Vec::new(),
        }
    }

    /// Returns the state of the flow whose failure this is, as a question for the flow is answered; itself if it is about no flow.
    pub fn into_outcome(self: Box<Self>) -> Result<Outcome, Box<Self>> {
        let (Some(flow_id), Some(status)) = (self.flow_id.clone(), self.flow_status) else {
            return Err(self);
        };
        Ok(Outcome {
            flow_id,
            status,
            result: None,
            error: Some(FlowFailure {
                code: self.code,
                message: self.detail,
                hint: self.hint,
                retry_after_ms: self.retry_after_ms,
            }),
            step: None,
            transactions: self.transactions,
            refused: self.refused,
            undelivered: self.undelivered,
            record: None,
        })
    }

    /// Sets the delay before a retry.
    #[must_use]
    pub fn retry_after_ms(mut self, ms: u64) -> Self {
        self.retry_after_ms = Some(ms);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_of_a_flow_names_it() {
        let plain = Problem::new(422, "Unprocessable Entity", "a.b", "no", "why");
        let itself = Box::new(plain.clone()).into_outcome();
        assert_eq!(*itself.expect_err("no flow"), plain);
        let failure = Problem {
            flow_id: Some("00".to_owned()),
            flow_status: Some(FlowStatus::Failed),
            transactions: vec!["11".to_owned()],
            ..plain
        };
        let json = serde_json::to_string(&failure).expect("good");
        assert!(
            json.ends_with(r#""flow_id":"00","flow_status":"failed","transactions":["11"]}"#),
            "{json}"
        );
        let outcome = Box::new(failure).into_outcome().expect("a flow");
        assert_eq!(outcome.status, FlowStatus::Failed);
        assert_eq!(outcome.error.expect("an error").message, "no");
        assert_eq!(outcome.transactions, ["11"]);
    }

    #[test]
    fn as_rfc_9457_names_it() {
        let problem = Problem::new(503, "Service Unavailable", "node.busy", "full", "wait")
            .retry_after_ms(20);
        let json = serde_json::to_string(&problem).expect("good");
        assert_eq!(
            json,
            r#"{"type":"urn:tally:error:node.busy","title":"Service Unavailable","status":503,"detail":"full","code":"node.busy","hint":"wait","retry_after_ms":20}"#
        );
        assert_eq!(
            serde_json::from_str::<Problem>(&json).expect("good"),
            problem
        );
    }
}
