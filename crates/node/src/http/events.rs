//! Server-sent events. A task for each follower makes the events; a bounded channel leads to the answer's body.
//!
//! ```text
//!   task ─► Sink (bounded) ─► EventBody ─► client
//!     └──── last event (its place is taken from the beginning) ─┘
//! ```
//! # Invariants
//! - A reader that goes away ends its task at once. One that reads nothing for [`SLOW_PATIENCE`] is cut off with a last event.
//! - A follower holds only its channel in memory: at most [`EVENTS_HELD_MAX`] pieces.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use api::codes::{NODE_STOPPING, SLOW_READER};
use api::events::CUT;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use bytes::BytesMut;
use hyper::body::Frame;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use super::claim::Claim;
use super::front::Front;
use super::place::OwnPlaces;
use super::refusal::Refusal;
use super::refusal::no_place;
use super::share::Resource;

/// Pieces that wait for a reader.
const EVENTS_HELD_MAX: usize = 16;
/// Time after which a reader is cut off if its channel stays full.
const SLOW_PATIENCE: Duration = Duration::from_secs(30);
/// After so long without an event a heartbeat is sent.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
const HEARTBEAT: &[u8] = b": alive\n\n";
/// A piece of the body is not made longer than this and one event.
const PIECE_BYTES: usize = 32 << 10;

/// The channel of a follower's events.
pub(crate) struct Sink {
    events: mpsc::Sender<Bytes>,
}

impl Sink {
    /// Sends one or more events; an error is the last event of a reader that is too slow.
    pub(crate) async fn send(&self, events: Bytes) -> Result<(), Bytes> {
        match self.events.send_timeout(events, SLOW_PATIENCE).await {
            Ok(()) => Ok(()),
            Err(_) => Err(slow()),
        }
    }
}

/// The last event of a reader that is too slow.
pub(crate) fn slow() -> Bytes {
    cut(Refusal::listed(
        &SLOW_READER,
        "the events were not read as fast as they came",
    ))
}

/// A last event that says why the events end early.
pub(crate) fn cut(refusal: Refusal) -> Bytes {
    event(CUT, None, &refusal.into_problem())
}

/// One event.
pub(crate) fn event(kind: &str, id: Option<u64>, data: &impl Serialize) -> Bytes {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    // The JSON has one line, unless a value was passed through unparsed.
    let data = serde_json::to_string(data).expect("a type of the API has a JSON form");
    let data = data.replace(['\n', '\r'], " ");
    Bytes::from(format!("event: {kind}\n{id}data: {data}\n\n"))
}

/// Answers with the events that `run` sends and the last one that it returns.
pub(crate) fn open<F, R>(front: &Front, claim: &Claim, run: F) -> Result<Response, Refusal>
where
    F: FnOnce(Sink) -> R,
    R: Future<Output = Bytes> + Send + 'static,
{
    let place = claim.take(Resource::Followers);
    let place = place.ok_or_else(|| no_place("followers"))?;
    let (sender, receiver) = mpsc::channel(EVENTS_HELD_MAX + 1);
    let last = sender.clone().try_reserve_owned();
    let last = last.map_err(|_| no_place("followers"))?;
    let gone = sender.clone();
    let events = run(Sink { events: sender });
    let mut stopping = front.stopping.clone();
    let followers = front.counters.followers.clone();
    tokio::spawn(async move {
        let _place = place;
        followers.increment();
        let event = tokio::select! {
            event = events => Some(event),
            () = gone.closed() => None,
            _ = stopping.wait_for(|stopping| *stopping) => {
                Some(cut(Refusal::listed(&NODE_STOPPING, "the node is stopping")))
            }
        };
        if let Some(event) = event {
            last.send(event);
        }
        followers.decrement();
    });
    let body = EventBody {
        events: receiver,
        heartbeat: Box::pin(tokio::time::sleep(HEARTBEAT_EVERY)),
    };
    let mut response = Response::new(Body::new(body));
    response.extensions_mut().insert(OwnPlaces);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

struct EventBody {
    events: mpsc::Receiver<Bytes>,
    heartbeat: Pin<Box<Sleep>>,
}

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut piece = BytesMut::new();
        while piece.len() < PIECE_BYTES {
            match self.events.poll_recv(cx) {
                Poll::Ready(Some(event)) => piece.extend_from_slice(&event),
                Poll::Ready(None) if piece.is_empty() => return Poll::Ready(None),
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        if piece.is_empty() {
            if self.heartbeat.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            piece.extend_from_slice(HEARTBEAT);
        }
        let next = Instant::now() + HEARTBEAT_EVERY;
        self.heartbeat.as_mut().reset(next);
        // Registers the new time, so that the next heartbeat wakes this body.
        let _ = self.heartbeat.as_mut().poll(cx);
        Poll::Ready(Some(Ok(Frame::data(piece.freeze()))))
    }
}
