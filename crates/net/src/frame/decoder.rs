//! Cuts a stream of bytes into frames.

use super::{FrameError, HEADER_BYTES, Header};

/// Cuts a stream of bytes, which arrives in pieces of any size, into frames. Whole frames in a piece are not copied. It
/// holds at most one unfinished frame, in about twice the memory of the bytes received of that frame.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    /// The received part of an incomplete frame.
    partial: Vec<u8>,
}

/// Maximum memory that is kept while no frame is incomplete.
const KEPT_BYTES_MAX: usize = 64 << 10;

impl FrameDecoder {
    /// Nothing has arrived yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes the next bytes, and passes each complete frame to the callback: its header, and its body as received. Stops at the
    /// first error, after which the connection must be closed.
    pub fn feed<E: From<FrameError>>(
        &mut self,
        mut bytes: &[u8],
        mut frame: impl FnMut(Header, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.partial.is_empty() {
            bytes = self.complete(bytes, HEADER_BYTES);
            let Some(header) = self.partial.first_chunk::<HEADER_BYTES>() else {
                return Ok(());
            };
            let header = Header::parse(header)?;
            let whole = HEADER_BYTES + header.length as usize;
            bytes = self.complete(bytes, whole);
            if self.partial.len() < whole {
                return Ok(());
            }
            frame(header, &self.partial[HEADER_BYTES..whole])?;
            self.partial.clear();
            self.partial.shrink_to(KEPT_BYTES_MAX);
        }
        while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() {
            let header = Header::parse(header)?;
            let Some((body, rest)) = rest.split_at_checked(header.length as usize) else {
                break;
            };
            frame(header, body)?;
            bytes = rest;
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the bytes of the incomplete frame.
    pub fn pending(&self) -> usize {
        self.partial.len()
    }

    /// Moves bytes to the unfinished frame until it has `wanted`; returns the others.
    fn complete<'a>(&mut self, bytes: &'a [u8], wanted: usize) -> &'a [u8] {
        // Clipped at 0: more than a header may have arrived before.
        let missing = wanted.saturating_sub(self.partial.len()).min(bytes.len());
        let (taken, rest) = bytes.split_at(missing);
        self.partial.extend_from_slice(taken);
        rest
    }
}
