//! One connection of HTTP/2: accepts requests, runs each as a task of its own, and moves the data of all of them.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use h2::RecvStream;
use h2::server::{self, SendResponse};
use tokio::io::{AsyncRead, AsyncWrite};

use super::answer::answer;
use super::body::{Intake, body};
use super::keep_alive::KeepAlive;
use super::turns::{TurnLength, Turns};
use crate::http::cut::Cut;
use crate::http::windows::Window;

/// The largest frame that a client may send, in bytes.
const FRAME_BYTES: u32 = 64 << 10;

/// Limits of a connection's streams.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct StreamLimits {
    /// Bytes of a request's head.
    pub(in crate::http) head_bytes_max: u32,
    /// Requests in flight at once.
    pub(in crate::http) requests_max: u32,
    /// Maximum time that a client may take for a piece of an answer.
    pub(in crate::http) write_patience: Duration,
}

/// A connection. It runs while it is polled, and ends when the client has gone or after it was asked to end.
pub(in crate::http) struct Http2<T, S> {
    connection: server::Connection<Turns<T>, Bytes>,
    service: S,
    intakes: FuturesUnordered<Intake>,
    keep_alive: KeepAlive,
    write_patience: Duration,
    turn: TurnLength,
    /// The stream window to announce once the client has confirmed the settings before.
    announced_next: Option<u32>,
}

impl<T, S, F> Http2<T, S>
where
    T: AsyncRead + AsyncWrite + Unpin,
    S: Fn(Request<Body>, Cut) -> F,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    /// Agrees on HTTP/2 with the client. `service` answers its requests.
    pub(in crate::http) async fn handshake(
        io: T,
        limits: StreamLimits,
        service: S,
    ) -> Result<Self, h2::Error> {
        let window = Window::ANONYMOUS;
        let turn = TurnLength::new(window.turn_bytes());
        let mut connection = server::Builder::new()
            .initial_window_size(window.of_stream())
            .initial_connection_window_size(window.of_connection())
            .max_frame_size(FRAME_BYTES)
            .max_header_list_size(limits.head_bytes_max)
            .max_concurrent_streams(limits.requests_max)
            .handshake(Turns::new(io, turn.clone()))
            .await?;
        let keep_alive = KeepAlive::new(connection.ping_pong());
        Ok(Self {
            connection,
            service,
            intakes: FuturesUnordered::new(),
            keep_alive,
            write_patience: limits.write_patience,
            turn,
            announced_next: None,
        })
    }

    /// Lets the requests in flight end, and accepts no others.
    pub(in crate::http) fn end_gracefully(&mut self) {
        self.connection.graceful_shutdown();
    }

    /// Gives the client a larger window.
    pub(in crate::http) fn widen(&mut self, window: Window) {
        self.connection
            .set_target_window_size(window.of_connection());
        self.turn.set(window.turn_bytes());
        self.announced_next = Some(window.of_stream());
    }

    /// Announces a larger stream window if there is one and the client has confirmed the settings before. Whether it did.
    fn announce(&mut self) -> bool {
        let Some(window) = self.announced_next else {
            return false;
        };
        let is_announced = self.connection.set_initial_window_size(window).is_ok();
        if is_announced {
            self.announced_next = None;
        }
        is_announced
    }

    fn begin(&mut self, request: Request<RecvStream>, reply: SendResponse<Bytes>) {
        let (head, stream) = request.into_parts();
        let (body, intake) = body(&head.headers, stream);
        self.intakes.extend(intake);
        let (cut, patience) = (Cut::default(), self.write_patience);
        let work = (self.service)(Request::from_parts(head, body), cut.clone());
        tokio::spawn(async move {
            // When it is cut, the stream is dropped, which resets it.
            let answered = async {
                if let Err(error) = answer(work, reply, patience).await {
                    tracing::debug!(%error, "a stream ended before its answer");
                }
            };
            cut.or_done(answered).await;
        });
    }
}

impl<T, S, F> Future for Http2<T, S>
where
    T: AsyncRead + AsyncWrite + Unpin,
    S: Fn(Request<Body>, Cut) -> F + Unpin,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    type Output = Result<(), h2::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            if this.keep_alive.poll(cx).is_ready() {
                tracing::debug!("a client does not answer pings");
                return Poll::Ready(Ok(()));
            }
            let accepted = this.connection.poll_accept(cx);
            let is_pending = accepted.is_pending();
            match accepted {
                Poll::Ready(Some(Ok((request, reply)))) => this.begin(request, reply),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Pending => {}
            }
            // After every turn, so that no small frame stays in `h2`.
            while let Poll::Ready(Some(())) = this.intakes.poll_next_unpin(cx) {}
            if is_pending && !this.announce() {
                return Poll::Pending;
            }
        }
    }
}
