//! The recovery from a rollback.

use std::sync::Arc;

use api::FinishRecovery;
use api::operations;
use axum::extract::State;
use axum::http::StatusCode;
use kernel::integrity::IntegrityOrder;

use super::handler::{Answered, Route, json, route};
use super::parameters::{ClaimedBody, from_json, whole};
use crate::http::state::ApiState;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::RECOVERY, show),
        route(&operations::BEGIN_RECOVERY, begin),
        route(&operations::FINISH_RECOVERY, finish),
    ]
    .into_iter()
}

/// `GET /v1/recovery`
pub(in crate::http) async fn show(State(state): State<Arc<ApiState>>) -> Answered {
    order(&state, IntegrityOrder::Show).await
}

/// `POST /v1/recovery`
pub(in crate::http) async fn begin(State(state): State<Arc<ApiState>>) -> Answered {
    order(&state, IntegrityOrder::Recover).await
}

/// `POST /v1/recovery/finish`
pub(in crate::http) async fn finish(
    State(state): State<Arc<ApiState>>,
    body: ClaimedBody,
) -> Answered {
    let FinishRecovery { accept_missing } = {
        let (body, _place) = whole(body, &state.options).await?;
        from_json(&body)?
    };
    order(&state, IntegrityOrder::Finish { accept_missing }).await
}

async fn order(state: &ApiState, order: IntegrityOrder) -> Answered {
    json(
        StatusCode::OK,
        &state.services.integrity.order_recovery(order).await?,
    )
}
