//! The vault, the ledger, the notary's memory: read only.

use std::sync::Arc;
use std::time::Instant;

use api::operations;
use axum::Extension;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use ledger::{StateRef, TxId};

use super::handler::{Answered, Route, json, route};
use super::parameters::{PageQuery, StatesQuery, TimeoutQuery, parsed, patience, query, segment};
use crate::http::refusal::Refusal;
use crate::http::state::ApiState;
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::BALANCES, balances),
        route(&operations::STATES, states),
        route(&operations::TRANSACTION, transaction),
        route(&operations::LEDGER, ledger),
        route(&operations::CONSUMED, consumed),
        route(&operations::NOTARY_REQUESTS, notary_requests),
        route(&operations::EQUIVOCATIONS, equivocations),
    ]
    .into_iter()
}

/// `GET /v1/balances`
pub(in crate::http) async fn balances(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    parameters: Result<Query<TimeoutQuery>, QueryRejection>,
) -> Answered {
    let deadline = deadline(&state, query(parameters)?.timeout_ms);
    let mut balances = state.services.vault.balances(deadline).await?;
    caller.strip_balances(&mut balances);
    json(StatusCode::OK, &balances)
}

/// `GET /v1/states`
pub(in crate::http) async fn states(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    parameters: Result<Query<StatesQuery>, QueryRejection>,
) -> Answered {
    let (page, quarantined) = query(parameters)?.parts();
    let deadline = deadline(&state, page.timeout_ms);
    let limit = page.limit(&state.options);
    let mut states = state
        .services
        .vault
        .states(page.after()?, limit, quarantined, deadline)
        .await?;
    states
        .states
        .retain(|entry| caller.queries(&entry.contract));
    json(StatusCode::OK, &states)
}

/// `GET /v1/transactions/{transaction_id}`
pub(in crate::http) async fn transaction(
    State(state): State<Arc<ApiState>>,
    id: Result<Path<String>, PathRejection>,
) -> Answered {
    let id: TxId = parsed("transaction id", &segment(id)?)?;
    json(
        StatusCode::OK,
        &state.services.ledger.transaction(id).await?,
    )
}

/// `GET /v1/ledger`
pub(in crate::http) async fn ledger(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<PageQuery>, QueryRejection>,
) -> Answered {
    let page = query(parameters)?;
    json(
        StatusCode::OK,
        &state
            .services
            .ledger
            .ledger(page.after()?, page.limit(&state.options))
            .await?,
    )
}

/// `GET /v1/notary/consumed`
pub(in crate::http) async fn consumed(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<PageQuery>, QueryRejection>,
) -> Answered {
    let page = query(parameters)?;
    let after = page.after.as_deref().map(state_ref).transpose()?;
    json(
        StatusCode::OK,
        &state
            .services
            .notary
            .consumed(after, page.limit(&state.options))
            .await?,
    )
}

/// `GET /v1/notary/requests`
pub(in crate::http) async fn notary_requests(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<PageQuery>, QueryRejection>,
) -> Answered {
    let page = query(parameters)?;
    let after = page.after.as_deref();
    let after = after
        .map(|text| parsed("transaction id", text))
        .transpose()?;
    let limit = page.limit(&state.options);
    let page = state.services.notary.notary_requests(after, limit).await?;
    json(StatusCode::OK, &page)
}

/// `GET /v1/equivocations`
pub(in crate::http) async fn equivocations(
    State(state): State<Arc<ApiState>>,
    parameters: Result<Query<PageQuery>, QueryRejection>,
) -> Answered {
    let page = query(parameters)?;
    let after = page.after.as_deref();
    let after = after
        .map(|text| parsed("transaction id", text))
        .transpose()?;
    let limit = page.limit(&state.options);
    let page = state.services.notary.equivocations(after, limit).await?;
    json(StatusCode::OK, &page)
}

fn deadline(state: &ApiState, timeout_ms: Option<u64>) -> Instant {
    Instant::now() + patience(&state.options, timeout_ms)
}

/// `id(index)`, as references are shown.
fn state_ref(text: &str) -> Result<StateRef, Refusal> {
    text.parse().map_err(|_| {
        let text = format!("'{text}' does not have the form ID(INDEX) of a state");
        Refusal::listed(&api::codes::BAD_PARAMETER, text)
    })
}
