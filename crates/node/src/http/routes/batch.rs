//! Many starts in one request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use api::codes::BAD_BATCH;
use api::operations;
use api::{BATCH_STARTS_MAX, BatchAnswer, BatchAnswers, StartBatch, StartFlow, Wait};
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use flow::FlowId;
use primitives::Seed;
use tokio::time::{Instant, timeout_at};

use super::flows::{handed_over, outcome, stands_after, where_it_stands};
use super::handler::{Answered, Route, json, route};
use super::parameters::{ClaimedBody, checked_client_id, from_json, patience, whole};
use crate::http::answer::Answer;
use crate::http::connections::ClientAddress;
use crate::http::refusal::Refusal;
use crate::http::services::FlowService;
use crate::http::start_request::StartRequest;
use crate::http::state::ApiState;
use crate::http::ticket::{Answers, Ticket};
use crate::users::Caller;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [route(&operations::START_FLOWS, start)].into_iter()
}

/// A start of the batch.
struct BatchStart {
    start: StartFlow,
    flow_id: FlowId,
    seed: Seed,
    until: Instant,
}

impl BatchStart {
    fn request<'a>(&'a self, user: &'a Arc<str>, wait: Wait, ticket: Ticket) -> StartRequest<'a> {
        StartRequest {
            flow_id: self.flow_id,
            seed: self.seed.clone(),
            flow: &self.start.flow,
            version: self.start.version,
            args: self.start.args.get(),
            user,
            client_id: self.start.client_id.as_deref(),
            wait,
            ticket,
        }
    }
}

/// `POST /v1/flows/batch`
pub(in crate::http) async fn start(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(address): Extension<ClientAddress>,
    body: ClaimedBody,
) -> Answered {
    let (body, _place) = whole(body, &state.options).await?;
    let batch: StartBatch = from_json(&body)?;
    drop(body);
    if batch.starts.is_empty() || batch.starts.len() > BATCH_STARTS_MAX {
        let count = batch.starts.len();
        let text = format!("the batch holds {count} starts; 1 to {BATCH_STARTS_MAX} are taken");
        return Err(Refusal::listed(&BAD_BATCH, text));
    }
    let wishes: Vec<Result<BatchStart, Refusal>> = batch
        .starts
        .iter()
        .map(|start| wish(&state, &caller, address, start.get().as_bytes()))
        .collect();
    let user = Arc::clone(&caller.name);
    let mut answers = wait_for_all(&state, (&caller, address), &wishes).await;
    let mut answered = Vec::with_capacity(wishes.len());
    for (index, wish) in wishes.iter().enumerate() {
        let answer = match (wish, answers.remove(&index)) {
            (Err(refusal), _) => Answer::Refused(refusal.clone()),
            (Ok(_), Some(answer)) => answer,
            (Ok(wish), None) => late(&*state.services.flows, &user, wish)
                .await
                .unwrap_or_else(Answer::Refused),
        };
        answered.push(one(&*state.services.flows, answer));
    }
    json(StatusCode::OK, &BatchAnswers { answers: answered })
}

fn wish(
    state: &ApiState,
    caller: &Caller,
    address: ClientAddress,
    start: &[u8],
) -> Result<BatchStart, Refusal> {
    let bytes = start.len();
    let start: StartFlow = from_json(start)?;
    checked_client_id(start.client_id.as_deref())?;
    let (flow_id, seed) = state.fresh_for(&caller.name)?;
    let admitted = caller
        .check_start(&start.flow)
        .and_then(|()| state.admit(caller, bytes));
    if let Err(refusal) = admitted {
        let client_id = start.client_id.as_deref();
        let note = state.start_note(caller, address, (&start.flow, &flow_id), client_id);
        if let Some(mut note) = note {
            note.names_flow(None);
            note.end(Some(&refusal.code));
        }
        return Err(refusal);
    }
    let until = Instant::now() + patience(&state.options, start.timeout_ms);
    Ok(BatchStart {
        start,
        flow_id,
        seed,
        until,
    })
}

/// Tickets that are given back when the client no longer waits for them.
struct Open<'a> {
    service: &'a dyn FlowService,
    answers: Arc<Answers>,
    /// The ticket of each start, by its index.
    tickets: BTreeMap<usize, u64>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.answers.close();
        let tickets: Vec<u64> = self.tickets.values().copied().collect();
        if !tickets.is_empty() {
            self.service.detach(&tickets);
        }
    }
}

/// Starts them all at once, in order; the answers that came in time, by index.
async fn wait_for_all(
    state: &ApiState,
    (caller, address): (&Caller, ClientAddress),
    wishes: &[Result<BatchStart, Refusal>],
) -> BTreeMap<usize, Answer> {
    let service = &*state.services.flows;
    let mut open = Open {
        service,
        answers: Arc::default(),
        tickets: BTreeMap::new(),
    };
    let mut starts = Vec::with_capacity(wishes.len());
    for (index, wish) in wishes.iter().enumerate() {
        if let Ok(wish) = wish {
            let ticket = Ticket::new(&open.answers, index as u64);
            open.tickets.insert(index, ticket.id());
            let (flow, client_id) = (&wish.start.flow, wish.start.client_id.as_deref());
            let note = state.start_note(caller, address, (flow, &wish.flow_id), client_id);
            starts.push(wish.request(&caller.name, wish.start.wait, ticket.noted(note)));
        }
    }
    service.start(starts);
    let mut answered = BTreeMap::new();
    let mut arrived = VecDeque::new();
    loop {
        let waited_for = open.tickets.keys();
        let ends = waited_for.filter_map(|index| Some(wishes.get(*index)?.as_ref().ok()?.until));
        let Some(end) = ends.min() else {
            return answered;
        };
        let answers = Arc::clone(&open.answers);
        let taken = std::future::poll_fn(|cx| answers.poll_take(cx, &mut arrived));
        if timeout_at(end, taken).await.is_ok() {
            for answer in arrived.drain(..) {
                let index = usize::try_from(answer.key).expect("the index of a start");
                // A ticket that was given back answers too when it is dropped; that says nothing of its flow.
                if open.tickets.remove(&index).is_some() {
                    answered.insert(index, answer.answer);
                }
            }
        } else {
            let now = Instant::now();
            let over = |index: &usize| {
                let wish = wishes.get(*index).and_then(|wish| wish.as_ref().ok());
                wish.is_none_or(|wish| wish.until <= now)
            };
            let over: Vec<usize> = open.tickets.keys().copied().filter(over).collect();
            let tickets: Vec<u64> = over.iter().filter_map(|i| open.tickets.remove(i)).collect();
            service.detach(&tickets);
        }
    }
}

/// Returns the state of a start whose wait has timed out.
async fn late(
    service: &dyn FlowService,
    user: &Arc<str>,
    wish: &BatchStart,
) -> Result<Answer, Refusal> {
    let stands = if wish.start.client_id.is_none() {
        where_it_stands(service, |t| service.attach(wish.flow_id, Wait::None, t)).await
    } else {
        let again = |ticket| service.start(vec![wish.request(user, Wait::None, ticket)]);
        stands_after(service, again).await
    };
    stands.map_err(handed_over)
}

fn one(service: &dyn FlowService, answer: Answer) -> BatchAnswer {
    let (status, outcome, problem) = match outcome(service, answer) {
        Ok(outcome) if outcome.status.is_end() => (StatusCode::OK.as_u16(), Some(outcome), None),
        Ok(outcome) => (StatusCode::ACCEPTED.as_u16(), Some(outcome), None),
        // A flow that failed is a problem here as well.
        Err(refusal) => {
            let problem = refusal.into_problem();
            (problem.status, None, Some(problem))
        }
    };
    BatchAnswer {
        status,
        outcome,
        problem,
    }
}
