//! The node itself: identity, network, health, metrics, drain.

use std::sync::Arc;

use api::operations;
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::IntoResponse;
use primitives::hex;

use super::handler::{Answered, Route, json, route};
use super::parameters::{HistoryQuery, PageQuery, parsed, query};
use crate::http::refusal::Refusal;
use crate::http::state::ApiState;
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::NODE, node),
        route(&operations::PEERS, peers),
        route(&operations::PEER_HISTORY, peer_history),
        route(&operations::DELIVERIES, deliveries),
        route(&operations::NETWORK, network),
        route(&operations::DRAIN, drain),
        route(&operations::CONFIRM_CLOCK, confirm_clock),
        route(&operations::METRICS, metrics),
    ]
    .into_iter()
}

/// `GET /v1/node`
pub(in crate::http) async fn node(State(state): State<Arc<ApiState>>) -> Answered {
    json(StatusCode::OK, &state.services.status.node())
}

/// `GET /v1/peers/history`
pub(in crate::http) async fn peer_history(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<HistoryQuery>, QueryRejection>,
) -> Answered {
    let HistoryQuery { peer, limit } = query(parameters)?;
    let limit = state.options.page(limit);
    let peer = peer.as_deref().map(|text| parsed("peer", text));
    let peer = peer.transpose()?;
    let history = state.services.status.peer_history(peer.as_ref(), limit)?;
    json(StatusCode::OK, &history)
}

/// `GET /v1/peers`
pub(in crate::http) async fn peers(State(state): State<Arc<ApiState>>) -> Answered {
    json(StatusCode::OK, &state.services.status.peers())
}

/// `GET /v1/deliveries`
pub(in crate::http) async fn deliveries(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<PageQuery>, QueryRejection>,
) -> Answered {
    let page = query(parameters)?;
    let after = page.after.as_deref().map(delivery_key).transpose()?;
    let limit = page.limit(&state.options);
    let page = state.services.status.deliveries(after, limit).await?;
    json(StatusCode::OK, &page)
}

/// Returns the key of a delivery that ended a page.
fn delivery_key(text: &str) -> Result<[u8; 40], Refusal> {
    let bytes = hex::decode(text);
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| {
            let text = format!("'{text}' is not the 'next' of a page of deliveries");
            Refusal::listed(&api::codes::BAD_PARAMETER, text)
        })
}

/// `GET /v1/network`
pub(in crate::http) async fn network(State(state): State<Arc<ApiState>>) -> Answered {
    json(StatusCode::OK, &state.services.status.network())
}

/// `POST /v1/drain`
pub(in crate::http) async fn drain(State(state): State<Arc<ApiState>>) -> Answered {
    json(StatusCode::ACCEPTED, &state.services.status.drain())
}

/// `POST /v1/clock/confirm`
pub(in crate::http) async fn confirm_clock(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
) -> Answered {
    json(
        StatusCode::OK,
        &state.services.status.confirm_clock(&caller.name).await?,
    )
}

/// `GET /health`
pub(in crate::http) async fn health(State(state): State<Arc<ApiState>>) -> Answered {
    let health = state.services.status.health();
    json(
        if health.ready {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        },
        &health,
    )
}

/// `GET /metrics`
pub(in crate::http) async fn metrics(State(state): State<Arc<ApiState>>) -> Answered {
    state.services.status.refresh_metrics();
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(CONTENT_TYPE, text)], state.metrics.render()).into_response())
}
