//! The API's description, and the page that shows it.

use std::sync::Arc;

use api::codes::INTERNAL;
use api::openapi::{Facts, document};
use api::operations;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::response::IntoResponse;
use schemars::SchemaGenerator;

use super::handler::{Answered, Route, route};
use crate::http::place::SharedBytes;
use crate::http::refusal::Refusal;
use crate::http::state::ApiState;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::OPENAPI, openapi),
        route(&operations::DOCS, page),
    ]
    .into_iter()
}

const PAGE: &str = include_str!("../docs.html");
/// Stands in the page where the number used once goes.
const NONCE: &str = "NONCE";

/// `GET /v1/openapi.json`
pub(in crate::http) async fn openapi(State(state): State<Arc<ApiState>>) -> Answered {
    let json = state.description.get_or_init(|| {
        let flows =
            |generator: &mut SchemaGenerator| state.services.flows.described_flows(generator);
        let facts = Facts {
            flows: Some(&flows),
            codes: &crate::codes::all(),
        };
        Bytes::from(document(&facts).to_string())
    });
    let kind = HeaderValue::from_static("application/json");
    Ok((Extension(SharedBytes), [(CONTENT_TYPE, kind)], json.clone()).into_response())
}

/// `GET /docs`
pub(in crate::http) async fn page(State(state): State<Arc<ApiState>>) -> Answered {
    let (nonce, _) = state.fresh()?;
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let policy = HeaderValue::try_from(policy)
        .map_err(|_| Refusal::listed(&INTERNAL, "the page's policy is no header"))?;
    let headers = [
        (
            CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        ),
        (CONTENT_SECURITY_POLICY, policy),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    ];
    Ok((headers, PAGE.replace(NONCE, &nonce.to_string())).into_response())
}
