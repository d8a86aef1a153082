//! A connection that is read in turns of bounded length.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf, Take};

/// A connection whose reader has to yield after each turn, so that it passes on the bytes that it has read.
pub(super) struct Turns<T> {
    /// Limited to the rest of the turn.
    inner: Take<T>,
    length: TurnLength,
}

/// The length of a turn in bytes. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct TurnLength(Arc<AtomicUsize>);

impl TurnLength {
    /// A length of at least one byte.
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes.max(1))))
    }

    /// Sets the length of further turns.
    pub(super) fn set(&self, bytes: usize) {
        self.0.store(bytes.max(1), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed) as u64
    }
}

impl<T: AsyncRead> Turns<T> {
    /// Reads `inner` in turns of this length.
    pub(super) fn new(inner: T, length: TurnLength) -> Self {
        Self {
            inner: inner.take(length.get()),
            length,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Turns<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let length = self.length.get();
        if self.inner.limit() == 0 {
            self.inner.set_limit(length);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = Pin::new(&mut self.inner).poll_read(cx, into);
        if polled.is_pending() {
            // The reader yields, so the next turn begins.
            self.inner.set_limit(length);
        }
        polled
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Turns<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self.inner.get_mut()).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self.inner.get_mut()).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.get_ref().is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.inner.get_mut()).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.inner.get_mut()).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Reads until the reader has to yield. Returns the number of bytes.
    fn turn(turns: &mut Turns<&[u8]>) -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        let mut total = 0;
        loop {
            let mut bytes = [0; 7];
            let mut into = ReadBuf::new(&mut bytes);
            match Pin::new(&mut *turns).poll_read(&mut cx, &mut into) {
                Poll::Ready(Ok(())) if !into.filled().is_empty() => total += into.filled().len(),
                _ => return total,
            }
        }
    }

    #[test]
    fn turns_end_after_their_length() {
        let length = TurnLength::new(10);
        let mut turns = Turns::new(&[1; 100][..], length.clone());
        assert_eq!((turn(&mut turns), turn(&mut turns)), (10, 10));
        length.set(64);
        // The turn that has begun keeps its length.
        assert_eq!((turn(&mut turns), turn(&mut turns)), (10, 64));
        assert_eq!((turn(&mut turns), turn(&mut turns)), (6, 0));
    }
}
