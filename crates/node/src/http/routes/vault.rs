//! Queries of the vault.

use std::sync::Arc;
use std::time::Instant;

use api::VaultQuery;
use api::operations;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use super::handler::{Answered, Route, json, route};
use super::parameters::{ClaimedBody, from_json, patience, whole};
use crate::http::claim::Claim;
use crate::http::refusal::no_place;
use crate::http::share::Resource;
use crate::http::state::ApiState;
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [route(&operations::QUERY_VAULT, query)].into_iter()
}

/// `POST /v1/vault/query`
pub(in crate::http) async fn query(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(claim): Extension<Claim>,
    body: ClaimedBody,
) -> Answered {
    let query: VaultQuery = {
        let (body, _place) = whole(body, &state.options).await?;
        from_json(&body)?
    };
    caller.check_query(&query)?;
    let place = claim.take(Resource::Queries);
    let _place = place.ok_or_else(|| no_place("queries"))?;
    let deadline = Instant::now() + patience(&state.options, query.timeout_ms);
    let answer = state.services.vault.vault_query(query, deadline).await?;
    json(StatusCode::OK, &answer)
}
