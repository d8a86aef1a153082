//! Request bodies: a finished one, or lines that are still being written.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};

use crate::progress::Progress;

/// The body of a request.
#[derive(Debug)]
pub(crate) enum RequestBody {
    /// A complete JSON body; taken when it is sent.
    Whole(Option<Bytes>),
    /// A complete body of plain bytes; taken when it is sent.
    Octets(Option<Bytes>),
    /// Lines that are written while the request runs.
    Lines(Arc<Outgoing>),
    /// A file that is read while the request runs.
    Pieces(Pieces),
}

/// Bytes of a file, as they are read.
#[derive(Debug)]
pub(crate) struct Pieces {
    pub(crate) receiver: tokio::sync::mpsc::Receiver<io::Result<Bytes>>,
    /// Bytes still to come, if that is known.
    pub(crate) left: Option<u64>,
    pub(crate) progress: Progress,
}

impl Pieces {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let piece = std::task::ready!(self.receiver.poll_recv(cx));
        if let Some(Ok(bytes)) = &piece {
            let length = bytes.len() as u64;
            // The task that reads the file ends at its length.
            self.left = self.left.map(|left| left - length);
            self.progress.add(length);
        }
        Poll::Ready(piece)
    }
}

impl RequestBody {
    /// Returns the media type of the body.
    pub(crate) fn media(&self) -> &'static str {
        match self {
            RequestBody::Whole(_) | RequestBody::Lines(_) => "application/json",
            RequestBody::Octets(_) | RequestBody::Pieces(_) => "application/octet-stream",
        }
    }
}

/// Bytes to be sent. Everything written between two polls of the connection is sent as one chunk.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    state: Mutex<BodyState>,
}

#[derive(Debug, Default)]
struct BodyState {
    bytes: BytesMut,
    waker: Option<Waker>,
    closed: bool,
}

/// Initial capacity of a chunk, in bytes: some hundred starts.
const CHUNK_BYTES: usize = 16 << 10;

impl Outgoing {
    /// Appends the bytes that `write` puts into the buffer.
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

    /// Ends the body after the bytes written so far.
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
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            RequestBody::Whole(bytes) | RequestBody::Octets(bytes) => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            RequestBody::Lines(outgoing) => outgoing
                .poll(cx)
                .map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes)))),
            RequestBody::Pieces(pieces) => pieces
                .poll(cx)
                .map(|piece| piece.map(|piece| piece.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, RequestBody::Whole(None) | RequestBody::Octets(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            RequestBody::Whole(bytes) | RequestBody::Octets(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            RequestBody::Pieces(Pieces {
                left: Some(left), ..
            }) => SizeHint::with_exact(*left),
            RequestBody::Pieces(_) | RequestBody::Lines(_) => SizeHint::default(),
        }
    }
}
