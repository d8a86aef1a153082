//! A file as the body of an answer: read piece by piece as the client takes it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use primitives::Coded;
use store::{FileReader, FilesError};
use tokio::task::JoinHandle;

use super::download_watch::DownloadWatch;
use super::options::PROGRESS_BYTES;
use super::range::Span;
use crate::uploads::PIECE_BYTES;

/// Bytes given at once. A reader that asks again has therefore taken as many.
const GIVEN_BYTES: usize = PROGRESS_BYTES as usize;

/// The body of a file's download. One piece is read ahead, so at most two are in memory.
pub(super) struct FileBody {
    reader: FileReader,
    /// The offset of the next read.
    at: u64,
    end: u64,
    /// Bytes that the client has not got yet.
    left: u64,
    reading: Option<JoinHandle<Result<Bytes, FilesError>>>,
    /// The part of a piece that was read and not given yet.
    piece: Bytes,
    /// The watch of the download, which ends it if the client reads too slowly.
    taking: DownloadWatch,
}

impl FileBody {
    pub(super) fn new(reader: FileReader, (from, to): Span, taking: DownloadWatch) -> Self {
        Self {
            reader,
            at: from,
            end: to,
            left: to - from,
            reading: None,
            piece: Bytes::new(),
            taking,
        }
    }

    pub(super) fn into_body(self) -> Body {
        Body::new(self)
    }

    fn read_on(&mut self) {
        let length = (self.end - self.at).min(PIECE_BYTES as u64);
        if length == 0 {
            return;
        }
        let (reader, at) = (self.reader.clone(), self.at);
        self.at += length;
        self.reading = Some(tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; length as usize];
            let read = reader.read_at(at, &mut piece)?;
            piece.truncate(read);
            Ok(piece.into())
        }));
    }

    /// The next piece, and the one after it is begun.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), axum::BoxError>> {
        if self.reading.is_none() {
            self.read_on();
        }
        let Some(reading) = self.reading.as_mut() else {
            return Poll::Ready(Err("the file ended early".into()));
        };
        let Poll::Ready(read) = Pin::new(reading).poll(cx) else {
            self.taking.waits_for_us();
            return Poll::Pending;
        };
        self.reading = None;
        match read {
            Ok(Ok(piece)) => {
                self.piece = piece;
                self.read_on();
                Poll::Ready(Ok(()))
            }
            Ok(Err(error)) => {
                tracing::warn!(code = error.code(), hint = error.hint(), "{error}");
                Poll::Ready(Err(error.into()))
            }
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}

impl HttpBody for FileBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        if self.piece.is_empty()
            && let Err(error) = ready!(self.poll_piece(cx))
        {
            return Poll::Ready(Some(Err(error)));
        }
        let given = self.piece.len().min(GIVEN_BYTES);
        let given = self.piece.split_to(given);
        if !self.taking.gives(given.len()) {
            return Poll::Ready(Some(Err("the file was taken too slowly".into())));
        }
        self.left -= given.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(given))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
