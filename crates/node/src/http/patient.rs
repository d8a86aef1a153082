//! A connection whose other side has to read: when nothing could be written for a while, it is given up.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A connection whose writes end after a time without progress.
pub(super) struct Patient<T> {
    inner: T,
    patience: Duration,
    /// Runs while something waits to be written.
    end: Option<Pin<Box<Sleep>>>,
}

impl<T> Patient<T> {
    pub(super) fn new(inner: T, patience: Duration) -> Self {
        Self {
            inner,
            patience,
            end: None,
        }
    }

    /// Passes on the result of a write, unless the write has waited for too long.
    fn judge<R>(
        &mut self,
        cx: &mut Context<'_>,
        wrote: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if wrote.is_ready() {
            self.end = None;
            return wrote;
        }
        let patience = self.patience;
        let end = self
            .end
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if end.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client does not read",
        )))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Patient<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, into)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Patient<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.judge(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write_vectored(cx, pieces);
        self.judge(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wrote = Pin::new(&mut self.inner).poll_flush(cx);
        self.judge(cx, wrote)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wrote = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.judge(cx, wrote)
    }
}
