//! Incoming bytes of an upload, from the connection to the disk.

use api::codes::files as file_codes;
use bytes::Bytes;
use store::{FilesError, Part, Published};

use super::blocking::blocking;
use super::part_owner::PartOwner;
use super::promise::Promise;
use crate::http::Refusal;

/// Bytes that are gathered before they go to the disk.
pub const PIECE_BYTES: usize = 128 << 10;

/// Why the bytes of an upload were not published.
#[derive(Debug)]
pub enum NotPublished {
    /// The bytes are not the promised ones. They are gone.
    Gone(Refusal),
    /// The bytes are kept if they belong to an upload, whose client may go on with it.
    Kept(Refusal),
}

impl From<Refusal> for NotPublished {
    fn from(refusal: Refusal) -> Self {
        Self::Kept(refusal)
    }
}

impl From<FilesError> for NotPublished {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::Mismatch { .. } => Self::Gone(error.into()),
            error => Self::Kept(error.into()),
        }
    }
}

impl From<NotPublished> for Refusal {
    fn from(failure: NotPublished) -> Self {
        match failure {
            NotPublished::Gone(refusal) | NotPublished::Kept(refusal) => refusal,
        }
    }
}

/// A part that a request holds. When it is dropped, it goes back to its upload. A part without an upload is discarded.
#[derive(Debug)]
pub struct Incoming {
    held: PartOwner,
    promise: Promise,
    bytes_max: u64,
    gathered: Vec<u8>,
}

impl Incoming {
    /// Returns the incoming bytes of a hold that has its part.
    pub(super) fn new(held: PartOwner, promise: Promise, bytes_max: u64) -> Self {
        Self {
            held,
            promise,
            bytes_max,
            gathered: Vec::new(),
        }
    }

    /// Bytes that are here, gathered ones included.
    pub fn len(&self) -> u64 {
        let written = self.held.part.as_ref().map_or(0, Part::len);
        written + self.gathered.len() as u64
    }

    /// Whether nothing has come.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Refuses this number of further bytes if the total would exceed the announced size or the limit.
    ///
    /// # Errors
    /// `files.wrong_size`, `tx.attachment_too_large`.
    pub fn check_more(&self, more: u64) -> Result<(), Refusal> {
        // A client tells any number. A clipped sum is above every limit.
        let len = self.len().saturating_add(more);
        if let Some(size) = self.promise.size.filter(|size| len > *size) {
            let text = format!("received {len} bytes or more, expected {size}");
            return Err(Refusal::listed(&file_codes::WRONG_SIZE, text));
        }
        if len > self.bytes_max {
            let most = self.bytes_max;
            let text = format!("the file has {len} bytes or more, the network allows {most}");
            return Err(Refusal::listed(&file_codes::TOO_LARGE, text));
        }
        Ok(())
    }

    /// Adds bytes; when enough are gathered they go to the disk.
    ///
    /// # Errors
    /// Those of [`Incoming::check_more`]; these bytes are not kept. The disk refuses.
    pub async fn add(&mut self, bytes: &Bytes) -> Result<(), Refusal> {
        self.check_more(bytes.len() as u64)?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            if self.gathered.capacity() == 0 {
                self.gathered.reserve_exact(PIECE_BYTES);
            }
            let fits = rest.len().min(PIECE_BYTES - self.gathered.len());
            self.gathered.extend_from_slice(&rest[..fits]);
            rest = &rest[fits..];
            if self.gathered.len() == PIECE_BYTES {
                self.write().await?;
            }
        }
        Ok(())
    }

    /// Writes the gathered bytes. The request may be dropped meanwhile: the part returns to its upload by itself.
    ///
    /// # Errors
    /// The disk refuses.
    pub async fn write(&mut self) -> Result<(), Refusal> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let mut held = std::mem::take(&mut self.held);
        let mut gathered = std::mem::take(&mut self.gathered);
        let (held, gathered, wrote) = blocking(move || {
            let wrote = match held.part.as_mut() {
                Some(part) => part.write(&gathered),
                None => Ok(()),
            };
            gathered.clear();
            (held, gathered, wrote)
        })
        .await?;
        (self.held, self.gathered) = (held, gathered);
        wrote.map_err(Refusal::from)
    }

    /// All bytes are here: makes them a file.
    ///
    /// # Errors
    /// They are others than promised, or the disk fails.
    pub async fn finish(mut self) -> Result<Published, NotPublished> {
        self.write().await?;
        let (len, promise) = (self.len(), self.promise.clone());
        if let Some(size) = promise.size.filter(|size| *size > len) {
            let text = format!("received {len} bytes, expected {size}");
            return Err(Refusal::listed(&file_codes::WRONG_SIZE, text).into());
        }
        let mut held = std::mem::take(&mut self.held);
        blocking(move || {
            let part = held.part.take().ok_or_else(|| {
                Refusal::listed(&file_codes::FAILED, "the part of the file is gone")
            })?;
            let finished = match held.upload {
                // Its client goes on with it, or gives it up.
                Some(_) => part.finish(promise.hash, promise.size),
                None => part.finish_or_discard(promise.hash, promise.size),
            };
            finished.map_err(NotPublished::from)
        })
        .await?
    }
}
