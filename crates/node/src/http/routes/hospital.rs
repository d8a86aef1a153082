//! Orders for flows that do not finish, and their journals.

use std::sync::Arc;

use api::codes::{FLOW_STANDS_OTHERWISE, FORBIDDEN, UNKNOWN_FLOW};
use api::operations;
use api::{FlowOrder, Wait};
use axum::Extension;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use flow::FlowId;

use super::flows::{state_answer, where_it_stands};
use super::handler::{Answered, Route, json, route};
use super::parameters::{ClaimedBody, JournalQuery, from_json, parsed, query, segment, whole};
use crate::http::answer::Answer;
use crate::http::flow_action::FlowAction;
use crate::http::refusal::Refusal;
use crate::http::state::ApiState;
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::RETRY_FLOW, retry),
        route(&operations::PAUSE_FLOW, pause),
        route(&operations::RESUME_FLOW, resume),
        route(&operations::GET_FLOW_JOURNAL, journal),
        route(&operations::RETRY_FLOWS, retry_many),
        route(&operations::PAUSE_FLOWS, pause_many),
        route(&operations::RESUME_FLOWS, resume_many),
        route(&operations::KILL_FLOWS, kill_many),
    ]
    .into_iter()
}

type Id = Result<Path<String>, PathRejection>;

/// `POST /v1/flows/{flow_id}/retry`
pub(in crate::http) async fn retry(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    flow_id: Id,
) -> Answered {
    one(&state, &caller, flow_id, FlowAction::Retry).await
}

/// `POST /v1/flows/{flow_id}/pause`
pub(in crate::http) async fn pause(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    flow_id: Id,
) -> Answered {
    one(&state, &caller, flow_id, FlowAction::Pause).await
}

/// `POST /v1/flows/{flow_id}/resume`
pub(in crate::http) async fn resume(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    flow_id: Id,
) -> Answered {
    one(&state, &caller, flow_id, FlowAction::Resume).await
}

async fn one(state: &ApiState, caller: &Caller, flow_id: Id, action: FlowAction) -> Answered {
    let flow_id: FlowId = parsed("flow id", &segment(flow_id)?)?;
    caller.check_own(&flow_id)?;
    let service = &*state.services.flows;
    let hospital = &*state.services.hospital;
    let ordered = hospital
        .order(action, Some(flow_id), FlowOrder::default())
        .await?;
    let stands = where_it_stands(service, |t| service.attach(flow_id, Wait::None, t)).await?;
    if ordered.matched > 0 {
        return state_answer(service, stands);
    }
    match stands {
        Answer::Running { status, .. } => {
            let text = format!("flow {flow_id} is {}", status.as_str());
            Err(Refusal::listed(&FLOW_STANDS_OTHERWISE, text))
        }
        Answer::Ended(_) => {
            let text = format!("flow {flow_id} has ended");
            Err(Refusal::listed(&FLOW_STANDS_OTHERWISE, text))
        }
        Answer::Refused(refusal) => Err(refusal),
        _ => Err(Refusal::listed(&UNKNOWN_FLOW, format!("no flow {flow_id}"))),
    }
}

/// `POST /v1/flows/retry`
pub(in crate::http) async fn retry_many(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    body: ClaimedBody,
) -> Answered {
    many(&state, &caller, body, FlowAction::Retry).await
}

/// `POST /v1/flows/pause`
pub(in crate::http) async fn pause_many(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    body: ClaimedBody,
) -> Answered {
    many(&state, &caller, body, FlowAction::Pause).await
}

/// `POST /v1/flows/resume`
pub(in crate::http) async fn resume_many(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    body: ClaimedBody,
) -> Answered {
    many(&state, &caller, body, FlowAction::Resume).await
}

/// `POST /v1/flows/kill`
pub(in crate::http) async fn kill_many(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    body: ClaimedBody,
) -> Answered {
    many(&state, &caller, body, FlowAction::Kill).await
}

async fn many(
    state: &ApiState,
    caller: &Caller,
    body: ClaimedBody,
    action: FlowAction,
) -> Answered {
    if !caller.permissions.allow("flow.read.all", None) {
        let text = "the user lacks the permission flow.read.all";
        return Err(Refusal::listed(&FORBIDDEN, text));
    }
    let order: FlowOrder = {
        let (body, _place) = whole(body, &state.options).await?;
        from_json(&body)?
    };
    let ordered = state.services.hospital.order(action, None, order).await?;
    json(StatusCode::OK, &ordered)
}

/// `GET /v1/flows/{flow_id}/journal`
pub(in crate::http) async fn journal(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    flow_id: Id,
    parameters: Result<Query<JournalQuery>, QueryRejection>,
) -> Answered {
    let flow_id: FlowId = parsed("flow id", &segment(flow_id)?)?;
    caller.check_own(&flow_id)?;
    let page = query(parameters)?;
    let limit = state.options.page(page.limit);
    let journal = state
        .services
        .hospital
        .journal(flow_id, page.after, limit)
        .await?;
    json(StatusCode::OK, &journal)
}
