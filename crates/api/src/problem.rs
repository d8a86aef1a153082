//! The body of every answer that is not a success: RFC 9457 with a stable code and a hint.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
        }
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
