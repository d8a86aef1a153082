//! Contracts, and the proposals of others that the node signs.

use std::sync::Arc;

use api::codes::BAD_PARAMETER;
use api::operations;
use api::{ConsentChange, NewUpgrade, NotaryChanges};
use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use primitives::Hash;

use super::handler::{Answered, Route, json, route};
use super::parameters::{ClaimedBody, from_json, parsed, whole};
use crate::http::refusal::Refusal;
use crate::http::state::{About, ApiState};
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::CONTRACTS, contracts),
        route(&operations::CONSENTS, list),
        route(&operations::CHANGE_CONSENTS, change),
        route(&operations::AUTHORISE_UPGRADE, authorise),
        route(&operations::WITHDRAW_UPGRADE, withdraw),
    ]
    .into_iter()
}

/// `GET /v1/contracts`
pub(in crate::http) async fn contracts(State(state): State<Arc<ApiState>>) -> Answered {
    json(StatusCode::OK, &state.services.contracts.contracts())
}

/// `GET /v1/consents`
pub(in crate::http) async fn list(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
) -> Answered {
    answer(&state, &caller, None).await
}

/// `PATCH /v1/consents`
pub(in crate::http) async fn change(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    body: ClaimedBody,
) -> Answered {
    let ConsentChange { notary_changes } = {
        let (body, _place) = whole(body, &state.options).await?;
        from_json(&body)?
    };
    let accept = match notary_changes {
        NotaryChanges::Accept => Some(true),
        NotaryChanges::Refuse => Some(false),
        NotaryChanges::Configured => None,
    };
    let change = kernel::ConsentChange::NotaryChanges(accept);
    answer(&state, &caller, Some(change)).await
}

/// `POST /v1/consents/upgrades`
pub(in crate::http) async fn authorise(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    body: ClaimedBody,
) -> Answered {
    let NewUpgrade { from, to } = {
        let (body, _place) = whole(body, &state.options).await?;
        from_json(&body)?
    };
    let (from, to) = (descriptor(&from)?, descriptor(&to)?);
    let change = kernel::ConsentChange::Authorise { from, to };
    answer(&state, &caller, Some(change)).await
}

/// `DELETE /v1/consents/upgrades/{from}/{to}`
pub(in crate::http) async fn withdraw(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Answered {
    let Path((from, to)) =
        path.map_err(|rejection| Refusal::listed(&BAD_PARAMETER, rejection.body_text()))?;
    let (from, to) = (descriptor(&from)?, descriptor(&to)?);
    let change = kernel::ConsentChange::Withdraw { from, to };
    answer(&state, &caller, Some(change)).await
}

async fn answer(
    state: &ApiState,
    caller: &Caller,
    change: Option<kernel::ConsentChange>,
) -> Answered {
    let about = change.map(|change| match change {
        kernel::ConsentChange::Authorise { from, to }
        | kernel::ConsentChange::Withdraw { from, to } => format!("{from} {to}"),
        kernel::ConsentChange::NotaryChanges(Some(true)) => "accept".to_owned(),
        kernel::ConsentChange::NotaryChanges(Some(false)) => "refuse".to_owned(),
        kernel::ConsentChange::NotaryChanges(None) => "configured".to_owned(),
    });
    let consents = state
        .services
        .contracts
        .consents(change, &caller.name)
        .await?;
    let mut response = json(StatusCode::OK, &consents)?;
    if let Some(about) = about {
        response.extensions_mut().insert(About(about));
    }
    Ok(response)
}

fn descriptor(text: &str) -> Result<Hash, Refusal> {
    parsed("descriptor", text)
}
