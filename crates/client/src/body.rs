//! Request bodies: a finished one, or lines that are still being written.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};

/// What a request carries.
#[derive(Debug)]
pub(crate) enum RequestBody {
    /// All of it; taken once.
    Whole(Option<Bytes>),
    /// Whatever is written meanwhile.
    Lines(Arc<Outgoing>),
}

/// Bytes on their way out; everything written between two turns of the connection leaves as one chunk.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bytes: BytesMut,
    waker: Option<Waker>,
    closed: bool,
}

/// A chunk starts with this much room, which holds some hundred starts.
const CHUNK_BYTES: usize = 16 << 10;

impl Outgoing {
    /// Appends what `write` writes.
    pub(crate) fn write(&self, write: impl FnOnce(&mut BytesMut)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.bytes.capacity() == 0 {
            state.bytes.reserve(CHUNK_BYTES);
        }
        write(&mut state.bytes);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the body after what is written.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.bytes.is_empty() {
            return Poll::Ready(Some(std::mem::take(&mut state.bytes).freeze()));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            RequestBody::Whole(bytes) => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            RequestBody::Lines(outgoing) => outgoing
                .poll(cx)
                .map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, RequestBody::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            RequestBody::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            RequestBody::Lines(_) => SizeHint::default(),
        }
    }
}
