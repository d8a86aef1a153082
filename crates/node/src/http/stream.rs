//! The stream form: `POST /v1/stream`. One body does all the work of a stream: polled for answers, it first reads lines, and
//! hands each chunk's starts to the service as one batch; then it writes every answer that has arrived as one chunk.
//!
//! ```text
//!   request body ─► Input ─► lines ─► FlowService::start ─ ─ ─► Ticket::answer
//!                                                                    │
//!   response body ◄──────────── lines ◄──────────────────────── Answers
//! ```
//! # Invariants
//! - The server does not read from a client that does not read its answers. The HTTP/2 window holds up this client alone.
//! - Answers that have arrived go out before further starts are read, so that accepted starts never wait behind refused ones.
//! - Starts for which the node has no room are answered here, from a prepared line, and leave nothing behind.
//! - At most `stream_outstanding_max` starts are outstanding. This bounds the memory of a stream.
//! - A line longer than 64 KiB takes a place among the large bodies.

use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use api::StreamStart;
use api::codes::{BODY_TOO_LARGE, INTERNAL};
use axum::Extension;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use bytes::BytesMut;
use flow::FlowId;
use hyper::body::Frame;
use primitives::Seed;
use serde::Deserialize;

use super::answer::Answer;
use super::claim::Claim;
use super::connections::ClientAddress;
use super::input::Input;
use super::line::write_answer;
use super::line_place::LinePlace;
use super::place::OwnPlaces;
use super::quotas::limited;
use super::refusal::Refusal;
use super::refusal::no_place;
use super::routes::parameters::{checked_client_id, from_json};
use super::share::{Reserved, Resource};
use super::start_capacity::StartCapacity;
use super::start_request::StartRequest;
use super::state::ApiState;
use super::ticket::{Answers, Arrived, Ticket};
use super::turned_away::TurnedAway;
use crate::users::{AuditLine, Caller};

/// A chunk of answers is not made longer than this and one line; refusals may come to as much again.
const CHUNK_BYTES: usize = 32 << 10;

/// `POST /v1/stream`
pub(super) async fn open(
    State(state): State<Arc<ApiState>>,
    Extension(caller): Extension<Caller>,
    Extension(address): Extension<ClientAddress>,
    Extension(claim): Extension<Claim>,
    body: Body,
) -> Result<Response, Refusal> {
    let place = claim.take(Resource::Streams);
    let place = place.ok_or_else(|| no_place("streams"))?;
    let mut response = Response::new(Body::new(StreamBody::new(
        state,
        (caller, address),
        body,
        (claim, place),
    )));
    response.extensions_mut().insert(OwnPlaces);
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/x-ndjson"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The body of a stream's answer. It reads the starts too.
struct StreamBody {
    state: Arc<ApiState>,
    caller: Caller,
    address: ClientAddress,
    body: Body,
    input: Input,
    line: LinePlace,
    input_ended: bool,
    /// Set when the connection broke. The answers of its starts are dropped.
    client_gone: bool,
    answers: Arc<Answers>,
    arrived: VecDeque<Arrived>,
    /// Ids of tickets that are not answered yet.
    outstanding: HashSet<u64>,
    turned_away: TurnedAway,
    /// Starts that came faster than their user may make them.
    limited: TurnedAway,
    out: BytesMut,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    _place: Reserved,
}

/// A start that came in.
struct IncomingStart<'a> {
    line: StreamStart<'a>,
    flow_id: FlowId,
    seed: Seed,
}

/// A start that is turned away: its number.
enum Away {
    /// There is no room.
    Busy(u64),
    /// Its user makes too many; after how many milliseconds to try again.
    Limited(u64, u64),
}

/// Only the number, of a line that is no start.
#[derive(Deserialize)]
struct Numbered {
    n: u64,
}

impl StreamBody {
    fn new(
        state: Arc<ApiState>,
        (caller, address): (Caller, ClientAddress),
        body: Body,
        (claim, place): (Claim, Reserved),
    ) -> Self {
        state.metrics.http_streams.increment();
        let mut stopping = state.stopping.clone();
        Self {
            state,
            caller,
            address,
            body,
            input: Input::default(),
            line: LinePlace::new(claim),
            input_ended: false,
            client_gone: false,
            answers: Arc::default(),
            arrived: VecDeque::new(),
            outstanding: HashSet::new(),
            turned_away: TurnedAway::new(Refusal::busy),
            limited: TurnedAway::new(limited),
            out: BytesMut::new(),
            stopping: Box::pin(async move {
                // An error means that the server is gone: the same thing.
                let _ = stopping.wait_for(|stopping| *stopping).await;
            }),
            _place: place,
        }
    }

    /// Takes lines in while there is room for their starts, and until nothing more is there.
    fn take_in(&mut self, cx: &mut Context<'_>) {
        if !self.input_ended && self.stopping.as_mut().poll(cx).is_ready() {
            self.input_ended = true;
        }
        loop {
            // Clipped at 0: there is no room.
            let room = self
                .state
                .options
                .stream_outstanding_max
                .saturating_sub(self.outstanding.len());
            if room == 0 || self.out.len() >= 2 * CHUNK_BYTES {
                return;
            }
            let spans = self.input.take(room);
            if !spans.is_empty() {
                self.submit(&spans);
                self.input.release();
                continue;
            }
            self.input.release();
            if self.input_ended {
                return;
            }
            if self.input.waiting() > self.state.options.body_bytes_max {
                let text = format!(
                    "a line may have {} bytes (api.body_bytes_max)",
                    self.state.options.body_bytes_max
                );
                self.refuse(None, Refusal::listed(&BODY_TOO_LARGE, text));
                self.input_ended = true;
                return;
            }
            // A line that goes on and on is taken in only as far as there is memory for it.
            match self.line.poll_covers(self.input.waiting(), cx) {
                Poll::Pending => return,
                Poll::Ready(true) => {}
                Poll::Ready(false) => {
                    self.refuse(None, no_place("long lines"));
                    self.input_ended = true;
                    return;
                }
            }
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(frame))) => {
                    if let Some(chunk) = frame.data_ref() {
                        self.input.add(chunk);
                    }
                }
                Poll::Ready(None) => {
                    self.input.end();
                    self.input_ended = true;
                }
                Poll::Ready(Some(Err(_))) => {
                    self.client_gone = true;
                    return;
                }
            }
        }
    }

    /// Hands the starts of some lines to the service at once, as far as it has room.
    fn submit(&mut self, spans: &[(usize, usize)]) {
        let (input, user) = (
            std::mem::take(&mut self.input),
            Arc::clone(&self.caller.name),
        );
        let mut room = self.state.services.flows.start_capacity();
        let mut wishes = Vec::new();
        let mut turned_away = 0;
        for span in spans {
            let line = input.line(*span);
            match self.wish(line, &mut room) {
                Ok(Ok(wish)) => wishes.push(wish),
                Ok(Err(Away::Busy(number))) => {
                    turned_away += 1;
                    self.turned_away
                        .answer(&mut self.out, number, room.retry_after_ms);
                }
                Ok(Err(Away::Limited(number, retry_after_ms))) => {
                    self.limited.answer(&mut self.out, number, retry_after_ms);
                }
                Err(refusal) => {
                    let number = serde_json::from_slice::<Numbered>(line)
                        .ok()
                        .map(|line| line.n);
                    self.refuse(number, refusal);
                }
            }
        }
        let starts: Vec<StartRequest<'_>> = wishes
            .iter()
            .map(|wish| StartRequest {
                flow_id: wish.flow_id,
                seed: wish.seed.clone(),
                flow: &wish.line.flow,
                version: wish.line.version,
                args: wish.line.args.get(),
                user: &user,
                client_id: wish.line.client_id.as_deref(),
                wait: wish.line.wait,
                ticket: self.ticket(wish.line.n).noted(self.state.start_note(
                    &self.caller,
                    self.address,
                    (&wish.line.flow, &wish.flow_id),
                    wish.line.client_id.as_deref(),
                )),
            })
            .collect();
        if turned_away > 0 {
            self.state.metrics.stream_starts.add(turned_away);
            self.state.services.flows.turned_away(turned_away);
        }
        let now = Instant::now();
        let due = (self.turned_away.due(now), self.limited.due(now));
        self.note_turned_away(due);
        if starts.is_empty() {
            self.input = input;
            return;
        }
        let state = &self.state;
        state.metrics.stream_starts.add(starts.len() as u64);
        // Tickets dropped by a panic answer by themselves.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| state.services.flows.start(starts))) {
            let panic = runtime::panic_text(panic.as_ref());
            tracing::error!(code = INTERNAL.code, %panic, "a start met a bug");
        }
        self.input = input;
    }

    /// A line that is a start, or one that is turned away.
    fn wish<'a>(
        &self,
        text: &'a [u8],
        room: &mut StartCapacity,
    ) -> Result<Result<IncomingStart<'a>, Away>, Refusal> {
        let line: StreamStart<'a> = from_json(text)?;
        checked_client_id(line.client_id.as_deref())?;
        let bytes = text.len();
        let allowed = self.caller.check_start(&line.flow);
        let allowed = allowed.and_then(|()| self.state.fits(&self.caller, bytes));
        if allowed.is_ok() {
            if let Err(retry_after_ms) = self.state.count(&self.caller) {
                return Ok(Err(Away::Limited(line.n, retry_after_ms)));
            }
            if !room.take(line.client_id.is_some()) {
                return Ok(Err(Away::Busy(line.n)));
            }
        }
        let (flow_id, seed) = self.state.fresh_for(&self.caller.name)?;
        if let Err(refusal) = allowed {
            let flow = (&*line.flow, &flow_id);
            let client_id = line.client_id.as_deref();
            let note = self
                .state
                .start_note(&self.caller, self.address, flow, client_id);
            if let Some(mut note) = note {
                note.names_flow(None);
                note.end(Some(&refusal.code));
            }
            return Err(refusal);
        }
        Ok(Ok(IncomingStart {
            line,
            flow_id,
            seed,
        }))
    }

    /// Writes one line into the audit log for all those without room, and one for those that were too many of their user.
    fn note_turned_away(&self, (busy, limited): (Option<u64>, Option<u64>)) {
        let Some(audit) = &self.state.options.audit else {
            return;
        };
        for (count, away) in [(busy, &self.turned_away), (limited, &self.limited)] {
            if let Some(count) = count {
                let user = Arc::clone(&self.caller.name);
                let line = AuditLine::new(user, self.address.0, "flow.start");
                audit.write(line.refused(&away.code()).counted(count));
            }
        }
    }

    fn ticket(&mut self, number: u64) -> Ticket {
        let ticket = Ticket::new(&self.answers, number);
        self.outstanding.insert(ticket.id());
        ticket
    }

    fn refuse(&mut self, number: Option<u64>, refusal: Refusal) {
        write_answer(
            &mut self.out,
            &*self.state.services.flows,
            number,
            Answer::Refused(refusal),
        );
    }

    /// Writes answers that have arrived.
    fn give_out(&mut self, cx: &mut Context<'_>) {
        while self.out.len() < CHUNK_BYTES {
            if self.arrived.is_empty() && self.answers.poll_take(cx, &mut self.arrived).is_pending()
            {
                return;
            }
            while self.out.len() < CHUNK_BYTES
                && let Some(Arrived {
                    ticket,
                    key,
                    answer,
                }) = self.arrived.pop_front()
            {
                self.outstanding.remove(&ticket);
                write_answer(
                    &mut self.out,
                    &*self.state.services.flows,
                    Some(key),
                    answer,
                );
            }
        }
    }
}

impl HttpBody for StreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let stream = &mut *self;
        stream.give_out(cx);
        if stream.out.len() < CHUNK_BYTES {
            stream.take_in(cx);
        }
        if stream.client_gone {
            return Poll::Ready(None);
        }
        if !stream.out.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(stream.out.split().freeze()))));
        }
        let is_over =
            stream.input_ended && stream.outstanding.is_empty() && stream.arrived.is_empty();
        if is_over {
            Poll::Ready(None)
        } else {
            Poll::Pending
        }
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        self.answers.close();
        let rest = (self.turned_away.rest(), self.limited.rest());
        self.note_turned_away(rest);
        self.state.metrics.http_streams.decrement();
        if !self.outstanding.is_empty() {
            let tickets: Vec<u64> = self.outstanding.iter().copied().collect();
            self.state.services.flows.detach(&tickets);
        }
    }
}
