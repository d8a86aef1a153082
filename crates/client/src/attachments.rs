//! Uploads and downloads of attachments, piece by piece: memory never holds a whole file.

use std::sync::Arc;
use std::time::Duration;

use api::attachments::UPLOAD_OFFSET;
use api::operations;
use api::{
    AttachmentChange, AttachmentPage, AttachmentQuery, AttachmentView, NewUpload, UploadView,
};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Limited};
use hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue, RANGE};
use hyper::{Method, StatusCode};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

use crate::answer::{parse, problem};
use crate::arguments::Arguments;
use crate::body::{Pieces, RequestBody};
use crate::client::Client;
use crate::connection::Connection;
use crate::error::ClientError;
use crate::progress::Progress;

/// Bytes read from a source in one call.
const PIECE_BYTES: usize = 64 << 10;
/// Maximum number of pieces that wait to be sent.
const PIECES_MAX: usize = 4;

/// The download of a file, piece by piece.
pub struct Download {
    connection: Arc<Connection>,
    body: hyper::body::Incoming,
    hash: String,
    at: u64,
    size: u64,
    /// `None` if the download does not begin at the start of the file, so that its hash cannot be checked.
    hasher: Option<Sha256>,
    patience: Duration,
}

impl Download {
    /// The whole file's length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the offset of the next piece in the file.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// Returns the next piece, or nothing after the last one. A file that is read from its start is compared with its hash as
    /// it arrives: the bytes are known to be right only after this has returned nothing.
    ///
    /// # Errors
    /// The connection broke, no bytes arrived within the time limit, or the bytes have another hash.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            let frame = tokio::time::timeout(self.patience, self.body.frame())
                .await
                .map_err(|_| ClientError::Timeout {
                    seconds: self.patience.as_secs(),
                })?;
            let piece = match frame {
                // A trailers frame contains no data.
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Err(self.connection.lost(&error)),
                None => return self.end(),
            };
            if piece.is_empty() {
                continue;
            }
            self.at += piece.len() as u64;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&piece);
            }
            return Ok(Some(piece));
        }
    }

    fn end(&mut self) -> Result<Option<Bytes>, ClientError> {
        if self.at != self.size {
            let text = format!("the file ended at {} of {} bytes", self.at, self.size);
            return Err(self.connection.lost_because(&text));
        }
        let Some(hasher) = self.hasher.take() else {
            return Ok(None);
        };
        let found: String = hasher
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        if found != self.hash {
            return Err(ClientError::Mismatch {
                expected: self.hash.clone(),
                found,
            });
        }
        Ok(None)
    }
}

impl Client {
    /// Uploads a file in one piece. Returns whether the node did not have it before. If `wish` gives a `size`, `source` must
    /// yield that many bytes.
    ///
    /// # Errors
    /// The node refuses, the source cannot be read, or the connection breaks. After an error the node keeps no byte of the file.
    pub async fn upload(
        &self,
        wish: &NewUpload,
        source: impl AsyncRead + Send + Unpin + 'static,
        progress: &Progress,
    ) -> Result<(AttachmentView, bool), ClientError> {
        let target = Arguments::none()
            .with("name", wish.name.as_deref())
            .with("media_type", wish.media_type.as_deref())
            .with("sha256", wish.sha256.as_deref())
            .target(&operations::UPLOAD);
        let body = pieces(source, wish.size, progress);
        let (status, answer) = self
            .send_pieces(Method::POST, &target, None, body, progress)
            .await?;
        Ok((answer, status == StatusCode::CREATED))
    }

    /// Begins an upload that can be interrupted.
    pub async fn begin_upload(&self, wish: &NewUpload) -> Result<UploadView, ClientError> {
        let arguments = Arguments::none().json(wish)?;
        self.ask(&operations::BEGIN_UPLOAD, arguments).await
    }

    /// Returns the number of bytes that the node has of an upload.
    pub async fn upload_state(&self, upload_id: &str) -> Result<UploadView, ClientError> {
        self.ask(&operations::UPLOAD_STATE, Arguments::at(&[upload_id]))
            .await
    }

    /// Adds bytes to an upload at an offset, which [`Client::upload_state`] returns. Takes `length` bytes of the source, or
    /// all of it.
    ///
    /// # Errors
    /// As [`Client::upload`]; the node keeps the bytes that arrived before the error.
    pub async fn add_to_upload(
        &self,
        upload_id: &str,
        offset: u64,
        length: Option<u64>,
        source: impl AsyncRead + Send + Unpin + 'static,
        progress: &Progress,
    ) -> Result<UploadView, ClientError> {
        let path = operations::ADD_TO_UPLOAD.at(&[upload_id]);
        let header = (
            HeaderName::from_bytes(UPLOAD_OFFSET.to_ascii_lowercase().as_bytes())
                .map_err(|error| ClientError::BadEndpoint(error.to_string()))?,
            HeaderValue::from(offset),
        );
        let body = pieces(source, length, progress);
        let (_, answer) = self
            .send_pieces(Method::PATCH, &path, Some(header), body, progress)
            .await?;
        Ok(answer)
    }

    /// Completes an upload, which becomes an attachment. The wait for the answer grows with `size`, the number of bytes that the node
    /// has to sync.
    pub async fn complete_upload(
        &self,
        upload_id: &str,
        size: u64,
    ) -> Result<AttachmentView, ClientError> {
        /// Assumed minimum write rate of the node's disk.
        const BYTES_PER_MS: u64 = 10_000;
        let arguments = Arguments::at(&[upload_id]).waiting(Some(size / BYTES_PER_MS));
        self.ask(&operations::COMPLETE_UPLOAD, arguments).await
    }

    /// Abandons an upload.
    pub async fn remove_upload(&self, upload_id: &str) -> Result<(), ClientError> {
        let arguments = Arguments::at(&[upload_id]);
        let done = self.ask_raw(&operations::REMOVE_UPLOAD, arguments).await;
        done.map(drop)
    }

    /// Returns the node's entry for a file.
    pub async fn attachment(&self, hash: &str) -> Result<AttachmentView, ClientError> {
        self.ask(&operations::ATTACHMENT, Arguments::at(&[hash]))
            .await
    }

    /// Returns a page of files that match a query, in order of hash.
    pub async fn attachments(
        &self,
        query: &AttachmentQuery,
        after: Option<&str>,
        limit: u32,
    ) -> Result<AttachmentPage, ClientError> {
        let arguments = Arguments::none()
            .page(after, limit)
            .with("name", query.name.as_deref())
            .with("media_type", query.media_type.as_deref())
            .with("trusted", query.trusted)
            .with("unreferenced", query.unreferenced);
        self.ask(&operations::ATTACHMENTS, arguments).await
    }

    /// Sets whether a file is trusted.
    pub async fn trust_attachment(
        &self,
        hash: &str,
        trusted: bool,
    ) -> Result<AttachmentView, ClientError> {
        let change = AttachmentChange { trusted };
        let arguments = Arguments::at(&[hash]).json(&change)?;
        self.ask(&operations::TRUST_ATTACHMENT, arguments).await
    }

    /// Removes a file that nothing refers to.
    pub async fn remove_attachment(&self, hash: &str) -> Result<(), ClientError> {
        let arguments = Arguments::at(&[hash]);
        let done = self
            .ask_raw(&operations::REMOVE_ATTACHMENT, arguments)
            .await;
        done.map(drop)
    }

    /// Downloads a file from an offset to its end.
    ///
    /// # Errors
    /// The node does not have it, or the offset lies beyond its end.
    pub async fn download(&self, hash: &str, from: u64) -> Result<Download, ClientError> {
        let limits = self.connection().limits;
        let path = operations::ATTACHMENT_CONTENT.at(&[hash]);
        let range = HeaderValue::from_str(&format!("bytes={from}-"));
        let range = range.map_err(|error| ClientError::BadEndpoint(error.to_string()))?;
        let header = (from > 0).then_some((RANGE, range));
        let head = async {
            let body = RequestBody::Whole(None);
            let sent = self
                .connection()
                .send_with(Method::GET, &path, header, body);
            let response = sent.await?;
            if response.status().is_success() {
                return Ok(response);
            }
            let status = response.status();
            let answer = Limited::new(response.into_body(), limits.answer_bytes_max);
            let answer = answer.collect().await;
            let answer = answer.map_err(|error| ClientError::BadAnswer(error.to_string()))?;
            Err(problem(status, &answer.to_bytes()))
        };
        let response = tokio::time::timeout(limits.call_timeout, head)
            .await
            .map_err(|_| ClientError::Timeout {
                seconds: limits.call_timeout.as_secs(),
            })??;
        let text = |name| {
            let value = response.headers().get(name);
            value.and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let length: u64 = text(CONTENT_LENGTH)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| {
                ClientError::BadAnswer("the answer with a file has no Content-Length".to_owned())
            })?;
        let at = match response.status() {
            StatusCode::PARTIAL_CONTENT => from,
            _ => 0,
        };
        let size = at.checked_add(length).ok_or_else(|| {
            ClientError::BadAnswer(format!(
                "the length of a file is out of range: {length} bytes after offset {at}"
            ))
        })?;
        Ok(Download {
            hash: hash.to_ascii_lowercase(),
            at,
            size,
            hasher: (at == 0).then(Sha256::new),
            patience: limits.call_timeout,
            connection: Arc::clone(self.connection()),
            body: response.into_body(),
        })
    }

    /// Sends a body of any length. The time limit for the answer starts again as long as bytes are being sent.
    async fn send_pieces<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        header: Option<(HeaderName, HeaderValue)>,
        body: RequestBody,
        progress: &Progress,
    ) -> Result<(StatusCode, T), ClientError> {
        let limits = self.connection().limits;
        let exchange = async {
            let sent = self.connection().send_with(method, path, header, body);
            let response = sent.await?;
            let status = response.status();
            let answer = Limited::new(response.into_body(), limits.answer_bytes_max);
            let answer = answer.collect().await;
            let answer = answer.map_err(|error| ClientError::BadAnswer(error.to_string()))?;
            match status.is_success() {
                true => Ok((status, parse(&answer.to_bytes())?)),
                false => Err(problem(status, &answer.to_bytes())),
            }
        };
        let mut exchange = std::pin::pin!(exchange);
        loop {
            let before = progress.bytes();
            if let Ok(done) = tokio::time::timeout(limits.call_timeout, &mut exchange).await {
                return done;
            }
            if progress.bytes() == before {
                return Err(ClientError::Timeout {
                    seconds: limits.call_timeout.as_secs(),
                });
            }
        }
    }
}

/// Makes a request body of a source. A task of its own reads the source, and ends with the request.
fn pieces(
    source: impl AsyncRead + Send + Unpin + 'static,
    length: Option<u64>,
    progress: &Progress,
) -> RequestBody {
    let (sender, receiver) = mpsc::channel(PIECES_MAX);
    tokio::spawn(async move {
        let mut left = length;
        // Without a length, the source is read to its end.
        let mut source = source.take(length.unwrap_or(u64::MAX));
        loop {
            let mut piece = BytesMut::with_capacity(PIECE_BYTES);
            let read = source.read_buf(&mut piece).await;
            let sent = match read {
                Ok(0) if left.is_none_or(|left| left == 0) => return,
                Ok(0) => Err(std::io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    // `take` ends the source at the length.
                    left = left.map(|left| left - read as u64);
                    Ok(piece.freeze())
                }
                Err(error) => Err(error),
            };
            let is_last = sent.is_err();
            if sender.send(sent).await.is_err() || is_last {
                return;
            }
        }
    });
    RequestBody::Pieces(Pieces {
        receiver,
        left: length,
        progress: progress.clone(),
    })
}
