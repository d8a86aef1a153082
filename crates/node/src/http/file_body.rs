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

use super::range::Span;
use crate::uploads::{PIECE_BYTES, Place};

/// See the module. One piece is read ahead, so at most two are in memory.
pub(super) struct FileBody {
    reader: FileReader,
    /// Where the next read begins.
    at: u64,
    end: u64,
    /// Bytes that the client has not got yet.
    left: u64,
    reading: Option<JoinHandle<Result<Bytes, FilesError>>>,
    /// Held until the body is dropped.
    place: Place,
}

impl FileBody {
    pub(super) fn new(reader: FileReader, (from, to): Span, place: Place) -> Self {
        Self {
            reader,
            at: from,
            end: to,
            left: to - from,
            reading: None,
            place,
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
        if self.reading.is_none() {
            self.read_on();
        }
        let Some(reading) = self.reading.as_mut() else {
            return Poll::Ready(Some(Err("the file ended early".into())));
        };
        let read = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        match read {
            Ok(Ok(piece)) => {
                self.left = self.left.saturating_sub(piece.len() as u64);
                self.place.sent(piece.len());
                self.read_on();
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Ok(Err(error)) => {
                tracing::warn!(code = error.code(), hint = error.hint(), "{error}");
                Poll::Ready(Some(Err(error.into())))
            }
            Err(error) => Poll::Ready(Some(Err(error.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
