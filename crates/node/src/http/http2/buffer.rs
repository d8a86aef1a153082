//! The unread bytes of a request's body.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use axum::body::Bytes;
use bytes::BytesMut;

/// Frames below this many bytes are joined. A larger one is kept as it is.
const JOINED_BYTES: usize = 4 << 10;

/// Bytes between the connection and the handler of a request. Clones share them. The connection's window bounds their number.
#[derive(Clone, Default)]
pub(super) struct Buffer(Arc<Mutex<BufferState>>);

#[derive(Default)]
struct BufferState {
    whole: VecDeque<Bytes>,
    /// Comes after `whole`.
    joined: BytesMut,
    end: Option<Result<(), h2::Error>>,
    /// Set when the handler drops the body.
    abandoned: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Buffer {
    /// Appends a frame's bytes.
    pub(super) fn add(&self, bytes: Bytes) {
        let mut state = self.lock();
        if bytes.len() < JOINED_BYTES {
            state.joined.extend_from_slice(&bytes);
        } else {
            state.close_joined();
            state.whole.push_back(bytes);
        }
        state.wake_reader();
    }

    /// Ends the body: it is complete, or it was broken off.
    pub(super) fn end(&self, end: Result<(), h2::Error>) {
        let mut state = self.lock();
        state.end = Some(end);
        state.wake_reader();
    }

    /// Ends a body that has not ended, because its connection is gone.
    pub(super) fn break_off(&self) {
        let mut state = self.lock();
        if state.end.is_none() {
            state.end = Some(Err(h2::Reason::CANCEL.into()));
            state.wake_reader();
        }
    }

    /// Takes bytes, or finds that the body has ended.
    pub(super) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, h2::Error>>> {
        let mut state = self.lock();
        if state.whole.is_empty() {
            state.close_joined();
        }
        if let Some(bytes) = state.whole.pop_front() {
            return Poll::Ready(Some(Ok(bytes)));
        }
        match state.end.take() {
            Some(Ok(())) => {
                state.end = Some(Ok(()));
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                state.end = Some(Ok(()));
                Poll::Ready(Some(Err(error)))
            }
            None => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Whether everything was taken and nothing comes any more.
    pub(super) fn is_over(&self) -> bool {
        let state = self.lock();
        state.whole.is_empty() && state.joined.is_empty() && matches!(state.end, Some(Ok(())))
    }

    /// Closes the buffer and discards its bytes. Returns their number.
    pub(super) fn abandon(&self) -> usize {
        let mut state = self.lock();
        state.abandoned = true;
        let whole: usize = state.whole.drain(..).map(|bytes| bytes.len()).sum();
        let joined = std::mem::take(&mut state.joined);
        if let Some(writer) = state.writer.take() {
            writer.wake();
        }
        whole + joined.len()
    }

    /// Returns whether the handler has dropped the body. If it has not, the task is woken when it does.
    pub(super) fn is_abandoned(&self, cx: &Context<'_>) -> bool {
        let mut state = self.lock();
        if !state.abandoned {
            match &mut state.writer {
                Some(writer) => writer.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
        }
        state.abandoned
    }

    fn lock(&self) -> MutexGuard<'_, BufferState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BufferState {
    fn close_joined(&mut self) {
        if !self.joined.is_empty() {
            let joined = std::mem::take(&mut self.joined).freeze();
            self.whole.push_back(joined);
        }
    }

    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(buffer: &Buffer) -> Option<usize> {
        match buffer.poll_take(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(bytes))) => Some(bytes.len()),
            _ => None,
        }
    }

    #[test]
    fn small_frames_are_joined_and_keep_their_order() {
        let buffer = Buffer::default();
        for length in [1, 2, JOINED_BYTES, 3, 4] {
            buffer.add(Bytes::from(vec![0; length]));
        }
        for length in [Some(3), Some(JOINED_BYTES), Some(7), None] {
            assert_eq!(taken(&buffer), length);
        }
        buffer.add(Bytes::from_static(b"last"));
        buffer.end(Ok(()));
        assert!(!buffer.is_over());
        assert_eq!(taken(&buffer), Some(4));
        assert!(buffer.is_over() && taken(&buffer).is_none());
    }

    #[test]
    fn abandoned_bytes_are_counted_once() {
        let buffer = Buffer::default();
        let cx = Context::from_waker(Waker::noop());
        buffer.add(Bytes::from(vec![0; JOINED_BYTES]));
        buffer.add(Bytes::from_static(b"abc"));
        assert!(!buffer.is_abandoned(&cx));
        assert_eq!(buffer.abandon(), JOINED_BYTES + 3);
        assert!(buffer.is_abandoned(&cx) && buffer.abandon() == 0);
    }
}
