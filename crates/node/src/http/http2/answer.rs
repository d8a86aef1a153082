//! The answer to one request of HTTP/2.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::{Duration, SystemTime};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONTENT_LENGTH, DATE};
use axum::http::{HeaderMap, HeaderValue, Response};
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use tokio::time::timeout;

/// Bytes that a client has to take within the patience for it.
const PIECE_BYTES: usize = 64 << 10;

/// Waits for the answer and sends it, unless the client ends the stream before. A client that does not open its window for
/// [`PIECE_BYTES`], or for the rest of a frame, in the time of `patience` gets no more of the stream. Otherwise the answer would stay in
/// memory without end: the connection may be alive and other streams may move.
pub(super) async fn answer(
    work: impl Future<Output = Response<Body>>,
    mut reply: SendResponse<Bytes>,
    patience: Duration,
) -> Result<(), h2::Error> {
    let response = {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(response) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(response));
            }
            let reset = ready!(reply.poll_reset(cx));
            Poll::Ready(Err(reset.map_or_else(|error| error, Into::into)))
        })
        .await?
    };
    let (head, body) = response.into_parts();
    let mut head = Response::from_parts(head, ());
    complete(head.headers_mut(), &body);
    if body.is_end_stream() {
        reply.send_response(head, true)?;
        return Ok(());
    }
    let stream = reply.send_response(head, false)?;
    send(body, stream, patience).await
}

/// Adds the date, and the length if the body knows it.
fn complete(headers: &mut HeaderMap, body: &Body) {
    if !headers.contains_key(DATE) {
        let date = httpdate::fmt_http_date(SystemTime::now());
        if let Ok(date) = HeaderValue::from_str(&date) {
            headers.insert(DATE, date);
        }
    }
    if let Some(length) = body.size_hint().exact()
        && !body.is_end_stream()
        && !headers.contains_key(CONTENT_LENGTH)
    {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}

/// Sends a body frame by frame, each as the client has room for it.
async fn send(
    body: Body,
    mut stream: SendStream<Bytes>,
    patience: Duration,
) -> Result<(), h2::Error> {
    let mut body = pin!(body);
    loop {
        let frame = poll_fn(|cx| {
            if let Poll::Ready(reset) = stream.poll_reset(cx) {
                return Poll::Ready(Err(reset.map_or_else(|error| error, Into::into)));
            }
            body.as_mut().poll_frame(cx).map(Ok)
        });
        match frame.await? {
            None => return stream.send_data(Bytes::new(), true),
            Some(Err(error)) => {
                tracing::debug!(%error, "an answer broke off");
                stream.send_reset(Reason::INTERNAL_ERROR);
                return Ok(());
            }
            Some(Ok(frame)) => {
                let Ok(mut bytes) = frame.into_data() else {
                    continue;
                };
                let is_last = body.is_end_stream();
                while !bytes.is_empty() {
                    let piece = bytes.split_to(bytes.len().min(PIECE_BYTES));
                    let ends = is_last && bytes.is_empty();
                    let Ok(sent) = timeout(patience, send_piece(&mut stream, piece, ends)).await
                    else {
                        tracing::debug!("a client does not read an answer");
                        stream.send_reset(Reason::CANCEL);
                        return Ok(());
                    };
                    sent?;
                    if ends {
                        return Ok(());
                    }
                }
                if is_last {
                    return stream.send_data(Bytes::new(), true);
                }
            }
        }
    }
}

/// Sends bytes as the client has room for them, so that none waits in the stream's own buffer. `ends` says that they are the last ones.
async fn send_piece(
    stream: &mut SendStream<Bytes>,
    mut piece: Bytes,
    ends: bool,
) -> Result<(), h2::Error> {
    while !piece.is_empty() {
        stream.reserve_capacity(piece.len());
        let room = capacity(stream).await?;
        let part = piece.split_to(room.min(piece.len()));
        stream.send_data(part, ends && piece.is_empty())?;
    }
    Ok(())
}

/// Waits until the client has room for at least one byte. Returns for how many it has.
async fn capacity(stream: &mut SendStream<Bytes>) -> Result<usize, h2::Error> {
    while stream.capacity() == 0 {
        let more = poll_fn(|cx| {
            if let Poll::Ready(reset) = stream.poll_reset(cx) {
                return Poll::Ready(Err(reset.map_or_else(|error| error, Into::into)));
            }
            stream.poll_capacity(cx).map(Ok)
        });
        match more.await? {
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error),
            None => return Err(Reason::CANCEL.into()),
        }
    }
    Ok(stream.capacity())
}
