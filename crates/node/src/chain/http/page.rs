//! The page that shows the chain as it grows, and the API's description.

use std::sync::Arc;

use api::chain::operations;
use api::codes::INTERNAL;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::response::IntoResponse;
use primitives::hex;

use super::{Answered, Api, Route, route};
use crate::http::Refusal;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::OPENAPI, openapi),
        route(&operations::PAGE, page),
    ]
    .into_iter()
}

const PAGE: &str = include_str!("page.html");
/// Stands in the page where the number used once goes.
const NONCE: &str = "NONCE";

/// `GET /v1/chain/openapi.json`
pub(super) async fn openapi(State(api): State<Arc<Api>>) -> Answered {
    let text = api.description.get_or_init(|| {
        let codes: Vec<(&str, &str)> = chain::ERRORS
            .iter()
            .map(|info| (info.code, info.cause))
            .collect();
        Bytes::from(api::chain::document(&codes).to_string())
    });
    let kind = HeaderValue::from_static("application/json");
    Ok(([(CONTENT_TYPE, kind)], text.clone()).into_response())
}

/// `GET /chain`
pub(super) async fn page() -> Answered {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce)
        .map_err(|_| Refusal::listed(&INTERNAL, "the system gives no random bytes"))?;
    let nonce = hex::encode(&nonce);
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
    Ok((headers, PAGE.replace(NONCE, &nonce)).into_response())
}
