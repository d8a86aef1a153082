//! Refusals as HTTP answers.

use std::borrow::Cow;

use api::problem::{PROBLEM_JSON, Problem};
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ledger::TxId;

use super::refusal::Refusal;

/// The code of a refusal, which the audit log records.
#[derive(Clone, Debug)]
pub(super) struct RefusedWith(pub(super) Cow<'static, str>);

impl Refusal {
    /// Converts to the body of an answer.
    pub(super) fn into_problem(self) -> Problem {
        // The list of codes has statuses of HTTP only. Another one would be a bug, for which 500 stands.
        let status =
            StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // A status outside the RFCs has no title of its own.
        let title = status.canonical_reason().unwrap_or("Refused");
        let mut problem = Problem::new(status.as_u16(), title, self.code, self.message, self.hint);
        problem.retry_after_ms = self.retry_after_ms;
        if let Some(flow) = self.flow {
            problem.flow_id = Some(flow.flow_id.to_string());
            problem.flow_status = Some(flow.status);
            problem.transactions = flow.transactions.iter().map(TxId::to_string).collect();
            problem.refused = flow.refused;
            problem.undelivered = flow.undelivered;
        }
        problem
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let code = RefusedWith(self.code.clone());
        let problem = self.into_problem();
        let retry_after_ms = problem.retry_after_ms;
        let status = StatusCode::from_u16(problem.status).expect("it was a status above");
        let json = serde_json::to_vec(&problem).expect("texts and numbers have a JSON form");
        let mut response = Response::new(Body::from(json));
        *response.status_mut() = status;
        response.extensions_mut().insert(code);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(ms) = retry_after_ms {
            // Whole seconds (RFC 9110 10.2.3), at least one; the body has the milliseconds.
            headers.insert(RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000).max(1)));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(
                WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"tally\""),
            );
        }
        response
    }
}
