//! The body of a request: a side that the connection fills, and a side that the handler reads.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use h2::{FlowControl, RecvStream};
use hyper::body::{Frame, SizeHint};

use super::buffer::Buffer;

/// Moves a stream's data from `h2` into its buffer, until the stream ends. Runs in the connection's task.
pub(super) struct Intake {
    stream: RecvStream,
    buffer: Buffer,
}

/// The side that the handler reads. It gives the client credit for the bytes that it takes.
struct RequestBody {
    buffer: Buffer,
    credit: FlowControl,
    /// Bytes that the client announced and the handler has not taken.
    left: Option<u64>,
}

/// Returns the body of a request and its intake. A request without a body has no intake.
pub(super) fn body(headers: &HeaderMap, mut stream: RecvStream) -> (Body, Option<Intake>) {
    if stream.is_end_stream() {
        return (Body::empty(), None);
    }
    let buffer = Buffer::default();
    let length = headers.get(CONTENT_LENGTH);
    let body = RequestBody {
        buffer: buffer.clone(),
        credit: stream.flow_control().clone(),
        // `h2` has checked that it is one number, and resets streams that do not keep to it.
        left: length
            .and_then(|length| length.to_str().ok())
            .and_then(|length| length.parse().ok()),
    };
    (Body::new(body), Some(Intake { stream, buffer }))
}

impl Future for Intake {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let intake = &mut *self;
        if intake.buffer.is_abandoned(cx) {
            return Poll::Ready(());
        }
        loop {
            match ready!(intake.stream.poll_data(cx)) {
                Some(Ok(bytes)) => intake.buffer.add(bytes),
                Some(Err(error)) => {
                    intake.buffer.end(Err(error));
                    return Poll::Ready(());
                }
                None => {
                    intake.buffer.end(Ok(()));
                    return Poll::Ready(());
                }
            }
        }
    }
}

impl Drop for Intake {
    /// Ends the body when the connection is closed. Has no effect if the body has already ended.
    fn drop(&mut self) {
        self.buffer.break_off();
    }
}

impl RequestBody {
    fn give_credit(&mut self, bytes: usize) {
        // Fails only when the stream is gone, and then its bytes count no longer.
        let _ = self.credit.release_capacity(bytes);
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        let Some(taken) = ready!(self.buffer.poll_take(cx)) else {
            return Poll::Ready(None);
        };
        let bytes = taken?;
        self.give_credit(bytes.len());
        // Clipped at 0: h2 refuses a body that is longer than announced.
        self.left = self
            .left
            .map(|left| left.saturating_sub(bytes.len() as u64));
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.buffer.is_over()
    }

    fn size_hint(&self) -> SizeHint {
        self.left
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let unread = self.buffer.abandon();
        self.give_credit(unread);
    }
}
