//! The place of a request among those in flight.
//!
//! # Invariants
//! - The handler, the work that it has on other threads, and the bytes of the answer hold the place. It is free once the handler has ended, the
//!   work is done, and the bytes are sent or dropped. So no client gets room for more work by going away, or by reading nothing.
//! - A response with places of its own ([`OwnPlaces`]) holds none of a request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::task::{AbortHandle, JoinHandle};

use super::cut::Cut;
use super::share::Reserved;

tokio::task_local! {
    /// The place of the request that a task answers.
    static PLACE: RequestPlace;
}

/// A place of a request. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct RequestPlace(
    #[expect(dead_code, reason = "dropping the last clone gives the place back")] Arc<Reserved>,
);

/// Marks a response whose body holds places of another resource, as long as it is sent: a stream, a follower, a download.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnPlaces;

/// Marks a response whose bytes are in memory anyway, once for all clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedBytes;

/// The place of the bytes of a large answer, and its deadline.
pub(super) struct AnswerPlace {
    _bytes: Reserved,
    /// Aborted when the answer is sent.
    deadline: Option<AbortHandle>,
}

impl AnswerPlace {
    /// A place of these bytes. When the client has not taken all of them in `most`, the answer is cut. Call within the runtime.
    pub(super) fn new(bytes: Reserved, cut: Option<Cut>, most: Duration) -> Self {
        let deadline = cut.map(|cut| {
            let watcher = tokio::spawn(async move {
                tokio::time::sleep(most).await;
                tracing::debug!("a client did not take a large answer in {most:?}");
                cut.end();
            });
            watcher.abort_handle()
        });
        Self {
            _bytes: bytes,
            deadline,
        }
    }
}

impl Drop for AnswerPlace {
    fn drop(&mut self) {
        if let Some(deadline) = &self.deadline {
            deadline.abort();
        }
    }
}

impl RequestPlace {
    /// The place of a request, with these reserved.
    pub(crate) fn new(reserved: Reserved) -> Self {
        Self(Arc::new(reserved))
    }

    /// Runs a handler. Its work on other threads holds this place ([`blocking`]).
    pub(crate) async fn within<T>(self, handler: impl Future<Output = T>) -> T {
        PLACE.scope(self, handler).await
    }

    /// Lets a response hold this place until its bytes are sent, and the place of its bytes if they are many.
    pub(super) fn held_by(self, response: Response, bytes: Option<AnswerPlace>) -> Response {
        let has_own = response.extensions().get::<OwnPlaces>().is_some();
        if has_own || response.body().is_end_stream() {
            return response;
        }
        let holds = Arc::new((self, bytes));
        response.map(|body| Body::new(HeldBody { body, holds }))
    }
}

/// Runs work that may block on a thread where blocking is allowed. It holds the place of the request that the caller answers until it is
/// done, even if the client goes before.
pub(crate) fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    // Work at the start of the node belongs to no request.
    let place = PLACE.try_with(RequestPlace::clone).ok();
    tokio::task::spawn_blocking(move || {
        let _place = place;
        work()
    })
}

/// Spawns work that goes on if the client goes. It holds the place of the request that the caller answers.
pub(crate) fn spawn<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    match PLACE.try_with(RequestPlace::clone) {
        Ok(place) => tokio::spawn(place.within(work)),
        Err(_) => tokio::spawn(work),
    }
}

/// The places that an answer holds.
type Holds = Arc<(RequestPlace, Option<AnswerPlace>)>;

/// A body whose bytes hold the places of its request.
struct HeldBody {
    body: Body,
    holds: Holds,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let hold = |bytes| HeldBytes::hold(bytes, &self.holds);
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(hold))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Bytes that hold places until the last reference to them is dropped, which is when the connection has written them.
struct HeldBytes {
    bytes: Bytes,
    _holds: Holds,
}

impl HeldBytes {
    fn hold(bytes: Bytes, holds: &Holds) -> Bytes {
        let _holds = Arc::clone(holds);
        Bytes::from_owner(Self { bytes, _holds })
    }
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use axum::response::IntoResponse;
    use http_body_util::BodyExt;

    use super::*;
    use crate::http::share::{Resource, Share, ShareLimits};

    fn share() -> Arc<Share> {
        Share::new(ShareLimits::unbounded())
    }

    fn place(share: &Arc<Share>) -> RequestPlace {
        RequestPlace::new(share.take(Resource::Requests, 1).expect("room"))
    }

    #[tokio::test]
    async fn an_answer_holds_its_place_until_its_bytes_are_dropped() {
        let share = share();
        let bytes = share.take(Resource::AnswerBytes, 5).expect("room");
        let bytes = Some(AnswerPlace::new(bytes, None, Duration::ZERO));
        let response = place(&share).held_by("hello".into_response(), bytes);
        assert_eq!(response.body().size_hint().exact(), Some(5));
        let sent = response.into_body().collect().await.expect("whole");
        let sent = sent.to_bytes();
        assert_eq!(&sent[..], b"hello");
        // A connection sends a part of them first.
        let rest = sent.slice(2..);
        drop(sent);
        let used = || [Resource::Requests, Resource::AnswerBytes].map(|of| share.used(of));
        assert_eq!(used(), [1, 5]);
        drop(rest);
        assert_eq!(used(), [0, 0]);
    }

    #[test]
    fn an_answer_with_places_of_its_own_or_without_bytes_holds_none() {
        let share = share();
        let mut own = "hello".into_response();
        own.extensions_mut().insert(OwnPlaces);
        for response in [own, ().into_response()] {
            let response = place(&share).held_by(response, None);
            assert_eq!(share.used(Resource::Requests), 0);
            drop(response);
        }
    }

    #[tokio::test]
    async fn work_on_another_thread_holds_the_place_of_a_request_that_was_dropped() {
        let share = share();
        let (go_on, wait) = mpsc::channel::<()>();
        let (work,) = place(&share)
            .within(async { (blocking(move || wait.recv()),) })
            .await;
        assert_eq!(share.used(Resource::Requests), 1);
        go_on.send(()).expect("it waits");
        work.await.expect("no panic").expect("it was told to go on");
        assert_eq!(share.used(Resource::Requests), 0);
    }
}
