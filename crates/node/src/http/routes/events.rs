//! Server-sent events: a flow's progress until its end, and changes of the vault.

use std::sync::Arc;

use api::codes::BAD_PARAMETER;
use api::events::{END, FAILED, PARKED, START, STATE, STEP};
use api::operations;
use api::{FlowStatus, FlowStep, Outcome, VaultStart, Wait};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use flow::FlowId;

use super::flows::{PendingAnswer, ended_before, of_history, outcome, state_of, where_flow_stands};
use super::handler::{Answered, Route, route};
use super::parameters::{AfterQuery, FollowQuery, parsed, query, segment};
use crate::http::claim::Claim;
use crate::http::events::{Sink, cut, event, open, slow};
use crate::http::followers::Follower;
use crate::http::refusal::Refusal;
use crate::http::state::ApiState;
use crate::http::vault_tail;
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::FOLLOW_FLOW, flow),
        route(&operations::FOLLOW_VAULT, vault),
    ]
    .into_iter()
}

/// The header with which a returning reader names the last event that it has read.
const LAST_EVENT_ID: &str = "last-event-id";

/// `GET /v1/flows/{flow_id}/events`
pub(in crate::http) async fn flow(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(claim): Extension<Claim>,
    flow_id: Result<Path<String>, PathRejection>,
    parameters: Result<Query<FollowQuery>, QueryRejection>,
) -> Answered {
    let flow_id: FlowId = parsed("flow id", &segment(flow_id)?)?;
    caller.check_own(&flow_id)?;
    let wait = match query(parameters)?.wait {
        Some(Wait::None) => {
            let text = "events are followed until finalised or delivered";
            return Err(Refusal::listed(&BAD_PARAMETER, text));
        }
        wait => wait.unwrap_or_default(),
    };
    // Before the question where it stands, so that no step falls between the two.
    let follower = state.services.flows.followers().follow(flow_id);
    let service = &*state.services.flows;
    let now = where_flow_stands(service, flow_id).await?;
    let now = match outcome(service, now) {
        Err(refusal) if refusal.flow.is_none() => return Err(refusal),
        // A success whose output is not kept still waits for its deliveries.
        Err(refusal) if wait == Wait::Delivered && has_succeeded(&refusal) => state_of(refusal),
        now => now,
    };
    let follow = Arc::clone(&state);
    open(&state, &claim, move |sink| async move {
        let followed = follow_flow(&follow, &sink, &follower, flow_id, now, wait).await;
        followed.unwrap_or_else(|last| last)
    })
}

fn has_succeeded(refusal: &Refusal) -> bool {
    let flow = refusal.flow.as_ref();
    flow.is_some_and(|flow| flow.status.is_success())
}

/// Sends the steps of a flow. Returns the last event, which is an error if it comes early.
async fn follow_flow(
    state: &ApiState,
    sink: &Sink,
    follower: &Follower,
    flow_id: FlowId,
    now: Result<Outcome, Refusal>,
    wait: Wait,
) -> Result<Bytes, Bytes> {
    let now = now.map_err(|refusal| last_event(None, Err(refusal)))?;
    let goes_on = wait == Wait::Delivered && now.status == FlowStatus::Finalised;
    if now.status.is_end() && !goes_on {
        return Ok(event(END, None, &now));
    }
    if now.status.stands_still() {
        return Ok(event(PARKED, None, &now));
    }
    sink.send(event(STATE, None, &now)).await?;
    let service = &*state.services.flows;
    let mut number = 0;
    let waiting = PendingAnswer::ask(service, |ticket| service.attach(flow_id, wait, ticket));
    let answer = {
        let mut waiting = waiting;
        loop {
            tokio::select! {
                answer = waiting.one() => break answer,
                () = follower.arrived() => send_steps(sink, follower, &mut number).await?,
            }
        }
    };
    send_steps(sink, follower, &mut number).await?;
    let ended = ended_before(service, flow_id, &answer).await;
    let answer = match ended.map_err(cut)? {
        // It had ended before, and its deliveries were awaited.
        Some(ended) => {
            let recall = |ticket| service.recall(&ended, wait, ticket);
            of_history(PendingAnswer::ask(service, recall).one().await, &ended)
        }
        None => answer,
    };
    Ok(last_event(Some(number + 1), outcome(service, answer)))
}

/// Returns the event that ends the events of a flow.
fn last_event(number: Option<u64>, end: Result<Outcome, Refusal>) -> Bytes {
    match end {
        Ok(end) if end.status.is_end() => event(END, number, &end),
        Ok(end) => event(PARKED, number, &end),
        Err(refusal) => match refusal.flow.as_ref().map(|flow| flow.status.is_success()) {
            Some(false) => event(FAILED, number, &refusal.into_problem()),
            // Only its result cannot be shown.
            Some(true) => match state_of(refusal) {
                Ok(end) => event(END, number, &end),
                Err(refusal) => cut(refusal),
            },
            None => cut(refusal),
        },
    }
}

async fn send_steps(sink: &Sink, follower: &Follower, number: &mut u64) -> Result<(), Bytes> {
    for step in follower.read().map_err(|_| slow())? {
        *number += 1;
        let step = FlowStep {
            step: step.to_owned(),
        };
        sink.send(event(STEP, Some(*number), &step)).await?;
    }
    Ok(())
}

/// `GET /v1/vault/events`
pub(in crate::http) async fn vault(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(claim): Extension<Claim>,
    headers: HeaderMap,
    parameters: Result<Query<AfterQuery>, QueryRejection>,
) -> Answered {
    let mut after = query(parameters)?.after;
    if let Some(last) = headers.get(LAST_EVENT_ID) {
        // A value that is no text is refused as no number.
        let text = last.to_str().unwrap_or("?").trim();
        after = Some(parsed("Last-Event-ID", text)?);
    }
    let reached = state.services.vault.vault_seq();
    // Without a place to begin at, the events of now on are sent.
    let after = after.unwrap_or_else(|| state.services.vault.vault_end());
    let follow = Arc::clone(&state);
    open(&state, &claim, move |sink| async move {
        let first = event(START, Some(after), &VaultStart { after });
        if let Err(last) = sink.send(first).await {
            return last;
        }
        vault_tail::follow(&follow, &sink, reached, after, &caller).await
    })
}
