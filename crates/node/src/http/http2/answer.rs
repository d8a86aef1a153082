//! The answer to one request of HTTP/2.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::SystemTime;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONTENT_LENGTH, DATE};
use axum::http::{HeaderMap, HeaderValue, Response};
use h2::server::SendResponse;
use h2::{Reason, SendStream};

/// Waits for the answer and sends it, unless the client ends the stream before.
pub(super) async fn answer(
    work: impl Future<Output = Response<Body>>,
    mut reply: SendResponse<Bytes>,
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
    send(body, stream).await
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

/// Sends a body frame by frame, each when the client has room for a part of it.
async fn send(body: Body, mut stream: SendStream<Bytes>) -> Result<(), h2::Error> {
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
                let Ok(bytes) = frame.into_data() else {
                    continue;
                };
                let is_last = body.is_end_stream();
                if bytes.is_empty() && !is_last {
                    continue;
                }
                if !bytes.is_empty() {
                    capacity(&mut stream).await?;
                }
                stream.send_data(bytes, is_last)?;
                if is_last {
                    return Ok(());
                }
            }
        }
    }
}

/// Waits until the client has capacity for at least one byte.
async fn capacity(stream: &mut SendStream<Bytes>) -> Result<(), h2::Error> {
    // The rest of a frame waits in the stream's send buffer, which asks for its own capacity.
    stream.reserve_capacity(1);
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
    Ok(())
}
