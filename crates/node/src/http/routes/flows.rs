//! Flows: start, look, wait, cancel, list; client ids.

use std::sync::Arc;
use std::time::Duration;

use api::codes::{INTERNAL, NODE_BUSY, OUTCOME_UNKNOWN, UNKNOWN_FLOW};
use api::operations::{self, Operation};
use api::{FlowList, FlowStatus, Outcome, StartFlow, Wait};
use axum::Extension;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header::{LINK, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::IntoResponse;
use flow::FlowId;
use kernel::HistoryEnd;
use ledger::TxId;

use super::handler::{Answered, Route, json, route};
use super::parameters::{
    ClaimedBody, FlowHistoryParameters, FlowsQuery, WaitQuery, checked_client_id, from_json,
    parsed, patience, query, segment, whole,
};
use crate::http::answer::{Answer, Output};
use crate::http::claim::Claim;
use crate::http::connections::ClientAddress;
use crate::http::output::end_of;
use crate::http::refusal::{Refusal, no_place};
use crate::http::services::{EndedRow, FlowService, Sees};
use crate::http::share::Resource;
use crate::http::start_request::StartRequest;
use crate::http::state::{ApiState, User};
use crate::http::ticket::{Answers, Ticket};
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::START_FLOW, start),
        route(&operations::LIST_FLOWS, list),
        route(&operations::LIST_FLOW_HISTORY, history),
        route(&operations::GET_FLOW, state),
        route(&operations::CANCEL_FLOW, cancel),
        route(&operations::FORGET_CLIENT_ID, forget_client_id),
    ]
    .into_iter()
}

/// After the time to wait is over: for the node to say where the flow stands.
const STATE_PATIENCE: Duration = Duration::from_secs(10);

/// Delay in milliseconds that a `busy` answer suggests after that.
const STATE_RETRY_MS: u64 = 1_000;

/// `POST /v1/flows`
pub(in crate::http) async fn start(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(address): Extension<ClientAddress>,
    body: ClaimedBody,
) -> Answered {
    let (body, _place) = whole(body, &state.options).await?;
    let bytes = body.len();
    let wish: StartFlow = from_json(&body)?;
    drop(body);
    checked_client_id(wish.client_id.as_deref())?;
    let admitted = caller
        .check_start(&wish.flow)
        .and_then(|()| state.admit(&caller, bytes));
    started(&state, (&caller, address), &wish, admitted).await
}

/// Starts an admitted flow and waits as requested. A refused start gets a line in the audit log.
pub(super) async fn started(
    state: &ApiState,
    (caller, address): (&Caller, ClientAddress),
    wish: &StartFlow,
    admitted: Result<(), Refusal>,
) -> Answered {
    let (flow_id, seed) = state.fresh_for(&caller.name)?;
    let client_id = wish.client_id.as_deref();
    let mut note = state.start_note(caller, address, (&wish.flow, &flow_id), client_id);
    if let Err(refusal) = admitted {
        if let Some(mut note) = note {
            note.names_flow(None);
            note.end(Some(&refusal.code));
        }
        return Err(refusal);
    }
    let submit = |wait: Wait, ticket: Ticket| {
        state.services.flows.start(vec![StartRequest {
            flow_id,
            seed: seed.clone(),
            flow: &wish.flow,
            version: wish.version,
            args: wish.args.get(),
            user: &caller.name,
            client_id,
            wait,
            ticket,
        }]);
    };
    let patience = patience(&state.options, wish.timeout_ms);
    let answer = match waited(&*state.services.flows, patience, |ticket| {
        submit(wish.wait, ticket.noted(note.take()))
    })
    .await
    {
        Some(answer) => answer,
        // The same client id again names the flow that runs; without one it bears the id that we gave it.
        None => {
            let service = &*state.services.flows;
            match wish.client_id {
                Some(_) => stands_after(service, |ticket| submit(Wait::None, ticket)).await,
                None => where_flow_stands(service, flow_id).await,
            }
            .map_err(handed_over)?
        }
    };
    started_answer(&*state.services.flows, answer)
}

/// `GET /v1/flows/{flow_id}`
pub(in crate::http) async fn state(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    flow_id: Result<Path<String>, PathRejection>,
    parameters: Result<Query<WaitQuery>, QueryRejection>,
) -> Answered {
    let flow_id: FlowId = parsed("flow id", &segment(flow_id)?)?;
    caller.check_own(&flow_id)?;
    let WaitQuery { wait, timeout_ms } = query(parameters)?;
    let service = &*state.services.flows;
    let wait = wait.unwrap_or(Wait::None);
    let mut found = if wait == Wait::None {
        let answer = where_flow_stands(service, flow_id).await?;
        outcome(service, answer).or_else(state_of)?
    } else {
        let patience = patience(&state.options, timeout_ms);
        let answer = match flow_awaited(service, flow_id, wait, patience).await? {
            Some(answer) => answer,
            None => where_flow_stands(service, flow_id).await?,
        };
        outcome(service, answer)?
    };
    if found.status.is_end() {
        // The outcome is known. An unreadable history must not hide it.
        match service.ended(flow_id).await {
            Ok(ended) => found.record = ended.map(|ended| Box::new(ended.record)),
            Err(refusal) => {
                tracing::warn!(code = %refusal.code, flow = %flow_id, "the history of the flow cannot be read")
            }
        }
    }
    json(StatusCode::OK, &found)
}

/// `POST /v1/flows/{flow_id}/cancel`
pub(in crate::http) async fn cancel(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    flow_id: Result<Path<String>, PathRejection>,
) -> Answered {
    let flow_id: FlowId = parsed("flow id", &segment(flow_id)?)?;
    caller.check_own(&flow_id)?;
    let service = &*state.services.flows;
    let answer = where_it_stands(service, |ticket| service.cancel(flow_id, ticket)).await?;
    match answer {
        // The cancellation is noted. The flow ends when it has finished the part that cannot be given up.
        Answer::Done => state_answer(service, where_flow_stands(service, flow_id).await?),
        answer => state_answer(service, answer),
    }
}

/// `GET /v1/flows`
pub(in crate::http) async fn list(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    parameters: Result<Query<FlowsQuery>, QueryRejection>,
) -> Answered {
    let (mut wanted, page) = query(parameters)?.parts();
    let (after, limit) = (page.after()?, page.limit(&state.options));
    if !caller.sees_all() {
        // The kernel filters. So the page ends at a flow of the caller, and `next` names no flow of another user.
        let name = caller.name.to_string();
        if wanted
            .user
            .replace(name.clone())
            .is_some_and(|user| user != name)
        {
            return json(StatusCode::OK, &FlowList::default());
        }
    }
    let page = state.services.hospital.flows(wanted, after, limit).await?;
    json(StatusCode::OK, &page)
}

/// `GET /v1/flows/history`
pub(in crate::http) async fn history(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(claim): Extension<Claim>,
    parameters: Result<Query<FlowHistoryParameters>, QueryRejection>,
) -> Answered {
    let (wanted, page) = query(parameters)?.parts();
    let (after, limit) = (page.after()?, page.limit(&state.options));
    // A page may read thousands of rows.
    let place = claim.take(Resource::Queries);
    let place = place.ok_or_else(|| no_place("queries"))?;
    let hospital = &state.services.hospital;
    let sees: Sees = Box::new(move |flow| {
        // The read keeps the place, even if the client goes before it ends.
        let _ = &place;
        caller.sees(flow)
    });
    let page = hospital.history(wanted, sees, after, limit).await?;
    json(StatusCode::OK, &page)
}

/// `DELETE /v1/clients/{client_id}`
pub(in crate::http) async fn forget_client_id(
    State(state): State<Arc<ApiState>>,
    Extension(User(user)): Extension<User>,
    client_id: Result<Path<String>, PathRejection>,
) -> Answered {
    let client_id = segment(client_id)?;
    checked_client_id(Some(&client_id))?;
    let service = &*state.services.flows;
    match where_it_stands(service, |ticket| {
        service.forget_client_id(&user, &client_id, ticket)
    })
    .await?
    {
        Answer::Refused(refusal) => Err(refusal),
        _ => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Gives the ticket back when its waiter goes away before the answer.
pub(super) struct PendingAnswer<'a> {
    service: &'a dyn FlowService,
    answers: Arc<Answers>,
    ticket: u64,
}

impl<'a> PendingAnswer<'a> {
    /// Asks.
    pub(super) fn ask(service: &'a dyn FlowService, ask: impl FnOnce(Ticket)) -> Self {
        let answers = Arc::new(Answers::default());
        let ticket = Ticket::new(&answers, 0);
        let waiting = Self {
            service,
            answers,
            ticket: ticket.id(),
        };
        ask(ticket);
        waiting
    }

    /// Waits for the answer. It is cancel safe.
    pub(super) async fn one(&mut self) -> Answer {
        let answer = self.answers.one().await;
        self.ticket = 0;
        answer
    }
}

impl Drop for PendingAnswer<'_> {
    fn drop(&mut self) {
        self.answers.close();
        if self.ticket != 0 {
            self.service.detach(&[self.ticket]);
        }
    }
}

/// Asks and waits for the answer. Returns `None` after the time limit, and then nothing waits for it any more.
async fn waited(
    service: &dyn FlowService,
    patience: Duration,
    ask: impl FnOnce(Ticket),
) -> Option<Answer> {
    let mut waiting = PendingAnswer::ask(service, ask);
    tokio::time::timeout(patience, waiting.one()).await.ok()
}

/// Asks something that is answered at once.
pub(super) async fn where_it_stands(
    service: &dyn FlowService,
    ask: impl FnOnce(Ticket),
) -> Result<Answer, Refusal> {
    let answer = waited(service, STATE_PATIENCE, ask).await;
    answer.ok_or_else(|| Refusal {
        message: format!("the node did not answer within {STATE_PATIENCE:?}"),
        ..Refusal::busy(STATE_RETRY_MS)
    })
}

/// Asks where a flow stands. One that ended some time ago is told by the history.
pub(super) async fn where_flow_stands(
    service: &dyn FlowService,
    flow_id: FlowId,
) -> Result<Answer, Refusal> {
    let answer = where_it_stands(service, |t| service.attach(flow_id, Wait::None, t)).await?;
    match ended_before(service, flow_id, &answer).await? {
        Some(ended) => {
            let recall = |ticket| service.recall(&ended, Wait::None, ticket);
            Ok(of_history(where_it_stands(service, recall).await?, &ended))
        }
        None => Ok(answer),
    }
}

/// Waits for a flow. One that ended some time ago is told by the history. Returns `None` after the time limit.
async fn flow_awaited(
    service: &dyn FlowService,
    flow_id: FlowId,
    wait: Wait,
    patience: Duration,
) -> Result<Option<Answer>, Refusal> {
    let attach = |ticket| service.attach(flow_id, wait, ticket);
    let Some(answer) = waited(service, patience, attach).await else {
        return Ok(None);
    };
    match ended_before(service, flow_id, &answer).await? {
        Some(ended) => {
            let recall = |ticket| service.recall(&ended, wait, ticket);
            let answer = waited(service, patience, recall).await;
            Ok(answer.map(|answer| of_history(answer, &ended)))
        }
        None => Ok(Some(answer)),
    }
}

/// Returns the flow of the history that an answer does not know.
pub(super) async fn ended_before(
    service: &dyn FlowService,
    flow_id: FlowId,
    answer: &Answer,
) -> Result<Option<Box<EndedRow>>, Refusal> {
    match answer {
        Answer::Refused(refusal) if refusal.code == UNKNOWN_FLOW.code => {
            service.ended(flow_id).await
        }
        _ => Ok(None),
    }
}

/// Returns the answer about a flow of the history, which may have only the size of the output.
pub(super) fn of_history(mut answer: Answer, ended: &EndedRow) -> Answer {
    if let (Answer::Ended(end), HistoryEnd::LargeOutput(bytes)) = (&mut answer, &ended.row.end) {
        end.output = Ok(Output::NotKept(*bytes));
    }
    answer
}

/// Converts the refusal of a question about a start that was handed over. A delay before a retry would start the flow again.
pub(super) fn handed_over(refusal: Refusal) -> Refusal {
    match refusal.code == NODE_BUSY.code {
        true => Refusal::listed(&OUTCOME_UNKNOWN, refusal.message),
        false => refusal,
    }
}

/// Repeats a start, and asks where its flow stands.
pub(super) async fn stands_after(
    service: &dyn FlowService,
    repeat: impl FnOnce(Ticket),
) -> Result<Answer, Refusal> {
    match where_it_stands(service, repeat).await? {
        Answer::Accepted { flow_id } => {
            where_it_stands(service, |t| service.attach(flow_id, Wait::None, t)).await
        }
        answer => Ok(answer),
    }
}

/// The answer to a start: 200 for a success, 202 with the place to ask for a flow that has not ended, and a problem for a failure.
pub(super) fn started_answer(service: &dyn FlowService, answer: Answer) -> Answered {
    let outcome = outcome(service, answer)?;
    if outcome.status.is_end() {
        return json(StatusCode::OK, &outcome);
    }
    let mut response = json(StatusCode::ACCEPTED, &outcome)?;
    let place = |operation: &Operation| operation.at(&[&outcome.flow_id]);
    if let Ok(flow) = HeaderValue::try_from(place(&operations::GET_FLOW)) {
        response.headers_mut().insert(LOCATION, flow);
    }
    let links = format!(
        "<{}>; rel=\"monitor\", <{}>; rel=\"cancel\"",
        place(&operations::FOLLOW_FLOW),
        place(&operations::CANCEL_FLOW)
    );
    if let Ok(links) = HeaderValue::try_from(links) {
        response.headers_mut().insert(LINK, links);
    }
    Ok(response)
}

/// The answer to a question for the state of a flow. A failure is a state.
pub(super) fn state_answer(service: &dyn FlowService, answer: Answer) -> Answered {
    let state = outcome(service, answer).or_else(state_of)?;
    json(StatusCode::OK, &state)
}

/// Returns the state of the flow that a refusal is about; the refusal itself if it is about none.
pub(super) fn state_of(mut refusal: Refusal) -> Result<Outcome, Refusal> {
    match refusal.flow.take() {
        None => Err(refusal),
        Some(flow) => Ok(Outcome {
            transactions: flow.transactions.iter().map(TxId::to_string).collect(),
            refused: flow.refused,
            undelivered: flow.undelivered,
            error: Some(refusal.into_failure()),
            ..live(flow.flow_id, flow.status, None)
        }),
    }
}

/// An answer as JSON. The failure of a flow is a refusal.
pub(super) fn outcome(service: &dyn FlowService, answer: Answer) -> Result<Outcome, Refusal> {
    match answer {
        Answer::Accepted { flow_id } => Ok(live(flow_id, FlowStatus::Accepted, None)),
        Answer::Running {
            flow_id,
            step,
            status,
        } => Ok(live(flow_id, status, Some(step))),
        Answer::Ended(ended) => {
            let succeeded = end_of(service, *ended)?;
            let transactions = succeeded.transactions.iter();
            Ok(Outcome {
                result: Some(succeeded.result),
                transactions: transactions.map(TxId::to_string).collect(),
                refused: succeeded.refused,
                undelivered: succeeded.undelivered,
                ..live(succeeded.flow_id, succeeded.status, None)
            })
        }
        Answer::Refused(refusal) => Err(refusal),
        Answer::Done => Err(Refusal::listed(&INTERNAL, "an answer without an outcome")),
    }
}

/// Returns the state of a flow that has no result yet.
fn live(flow_id: FlowId, status: FlowStatus, step: Option<String>) -> Outcome {
    Outcome {
        flow_id: flow_id.to_string(),
        status,
        result: None,
        error: None,
        step,
        transactions: Vec::new(),
        refused: Vec::new(),
        undelivered: Vec::new(),
        record: None,
    }
}
