//! Compression of frames with zstd, level 1. It pauses on connections whose frames compress badly.

use std::io;

use zstd::bulk;

use crate::frame::{FrameError, HEADER_BYTES, Header};
use crate::outbox::Made;

/// Smaller bodies are not compressed.
const THRESHOLD_BYTES: usize = 512;
/// The level: about 3 us a KiB.
const LEVEL: i32 = 1;
/// Maximum number of frames that are sent uncompressed after frames that compressed badly.
const SKIP_MAX: u32 = 64;

/// Compresses the frames of one connection.
pub(crate) struct Packer {
    context: bulk::Compressor<'static>,
    packed: Vec<u8>,
    /// Number of following frames to send uncompressed.
    skip: u32,
    /// Length of the next pause, in frames. It doubles each time that a frame compresses badly.
    patience: u32,
}

impl Packer {
    pub(crate) fn new() -> io::Result<Self> {
        let context = bulk::Compressor::new(LEVEL)?;
        Ok(Self {
            context,
            packed: Vec::new(),
            skip: 0,
            patience: 1,
        })
    }

    /// Compresses the frame at the end of `frames`, if that saves at least an eighth of its length.
    pub(crate) fn pack(&mut self, frames: &mut Vec<u8>, made: &mut Made) {
        let length = made.header.raw_length as usize;
        if length < THRESHOLD_BYTES {
            return;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        let at = frames.len() - length;
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(length));
        let done = self
            .context
            .compress_to_buffer(&frames[at..], &mut self.packed);
        if done.is_ok_and(|packed| packed <= length - length / 8) {
            made.header.flags.compressed = true;
            // Shorter than the body, whose length fits.
            made.header.length = self.packed.len() as u32;
            frames.truncate(at);
            frames.extend_from_slice(&self.packed);
            frames[at - HEADER_BYTES..at].copy_from_slice(&made.header.to_bytes());
            self.patience = 1;
        } else {
            self.skip = self.patience;
            self.patience = (self.patience * 2).min(SKIP_MAX);
        }
    }
}

/// Decompresses the frames of one connection.
#[derive(Default)]
pub(crate) struct Unpacker {
    context: Option<bulk::Decompressor<'static>>,
    unpacked: Vec<u8>,
}

impl Unpacker {
    /// The body of a frame, decompressed if it is compressed. The header was checked: it asks for 1 MiB at most.
    pub(crate) fn unpack<'a>(
        &'a mut self,
        header: &Header,
        body: &'a [u8],
    ) -> Result<&'a [u8], FrameError> {
        if !header.flags.compressed {
            return Ok(body);
        }
        let length = header.raw_length as usize;
        let context = match &mut self.context {
            Some(context) => context,
            none => {
                let made = bulk::Decompressor::new().map_err(|_| FrameError::Compression)?;
                none.insert(made)
            }
        };
        self.unpacked.clear();
        self.unpacked.reserve(length);
        context
            .decompress_to_buffer(body, &mut self.unpacked)
            .ok()
            .filter(|unpacked| *unpacked == length)
            .ok_or(FrameError::Compression)?;
        Ok(&self.unpacked)
    }

    /// Gives memory back.
    pub(crate) fn shrink(&mut self) {
        self.unpacked = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Kind;

    fn frame(body: &[u8]) -> (Vec<u8>, Made) {
        let header = Header::new(Kind::Batch, body.len());
        let mut bytes = b"earlier frames".to_vec();
        bytes.extend_from_slice(&header.to_bytes());
        bytes.extend_from_slice(body);
        (
            bytes,
            Made {
                header,
                messages: 1,
                bytes: 0,
            },
        )
    }

    /// Bytes that do not compress.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn comes_back() {
        let mut packer = Packer::new().expect("memory");
        let mut unpacker = Unpacker::default();
        for (body, smaller) in [
            (vec![7; 4_000], true),
            (vec![7; 511], false),
            (noise(4_000), false),
            (noise(600), false),
        ] {
            let (mut bytes, mut made) = frame(&body);
            packer.pack(&mut bytes, &mut made);
            let frame = &bytes[b"earlier frames".len()..];
            let header = frame.first_chunk().expect("a header");
            let header = Header::parse(header).expect("a good one");
            assert_eq!(header, made.header);
            assert_eq!((header.length as usize) < body.len(), smaller);
            let unpacked = unpacker.unpack(&header, &frame[HEADER_BYTES..]);
            assert_eq!(unpacked, Ok(&body[..]));
        }
        assert!(
            packer.patience > 1,
            "the pauses of compression must grow while frames compress badly"
        );
    }

    #[test]
    fn a_body_of_another_length_than_its_header_says_is_refused() {
        let packed = bulk::compress(&[7; 4_000], 1).expect("compresses");
        let header = |raw_length| Header {
            flags: crate::frame::Flags {
                compressed: true,
                ..Default::default()
            },
            raw_length,
            ..Header::new(Kind::Batch, packed.len())
        };
        let mut unpacker = Unpacker::default();
        assert_eq!(
            unpacker.unpack(&header(4_000), &packed).map(<[u8]>::len),
            Ok(4_000)
        );
        for (raw_length, body) in [
            (3_999, &packed[..]),
            (4_001, &packed),
            (4_000, &packed[1..]),
            (4_000, b"garbage"),
        ] {
            assert_eq!(
                unpacker.unpack(&header(raw_length), body),
                Err(FrameError::Compression)
            );
        }
    }
}
