//! Frames: what one write carries.
//!
//! ```text
//!   0        4    5     6        7     8          12       16
//!   ├ length ┼kind┼flags┼priority┼chunk┼ stream   ┼ credit ┼ payload (length bytes)
//! ```
//! Numbers are big endian. `length` counts the payload as carried (compressed where flag 1 is set). `stream` names the
//! message that chunks belong to; `credit` grants the receiver of the frame so many bytes of messages more.

use thiserror::Error;

/// Bytes of a frame's header.
pub const HEADER_BYTES: usize = 16;
/// Most bytes of a payload, as carried and uncompressed.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 20;
/// The payload is compressed with zstd.
pub const FLAG_ZSTD: u8 = 1;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Whole messages: each as its length (4 bytes) and its bytes.
    Messages = 0,
    /// Who speaks: the first frame in each direction.
    Hello = 1,
    /// Nothing but credit, and a sign of life.
    Ping = 2,
    /// A part of one message.
    Chunk = 3,
}

/// Which part of a message a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Chunk {
    /// Not a part.
    Whole = 0,
    /// The first; its payload begins with the message's length (8 bytes).
    First = 1,
    /// One in the middle.
    Middle = 2,
    /// The last.
    Last = 3,
}

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the payload as carried.
    pub length: u32,
    /// What it is for.
    pub kind: Kind,
    /// [`FLAG_ZSTD`] or nothing.
    pub flags: u8,
    /// 0 is the most urgent.
    pub priority: u8,
    /// Which part of a message.
    pub chunk: Chunk,
    /// The message that chunks belong to.
    pub stream: u32,
    /// Bytes of messages that the receiver of this frame may send in addition.
    pub credit: u32,
}

/// A header that no node of ours writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Larger than any frame may be.
    #[error("a frame of {0} bytes is larger than the limit of {PAYLOAD_BYTES_MAX}")]
    TooLarge(u32),
    /// An unknown kind, flag or chunk.
    #[error("a frame with an unknown {0}")]
    Unknown(&'static str),
    /// The payload is not what the header says.
    #[error("a frame's payload is damaged: {0}")]
    Damaged(&'static str),
}

impl Header {
    /// A header without chunks, flags and credit.
    pub fn new(kind: Kind, length: u32) -> Self {
        Self { length, kind, flags: 0, priority: 0, chunk: Chunk::Whole, stream: 0, credit: 0 }
    }

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.length.to_be_bytes());
        bytes[4] = self.kind as u8;
        bytes[5] = self.flags;
        bytes[6] = self.priority;
        bytes[7] = self.chunk as u8;
        bytes[8..12].copy_from_slice(&self.stream.to_be_bytes());
        bytes[12..].copy_from_slice(&self.credit.to_be_bytes());
        bytes
    }

    /// Reads and checks a header.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, FrameError> {
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let length = word(0);
        if length as usize > PAYLOAD_BYTES_MAX {
            return Err(FrameError::TooLarge(length));
        }
        let kind = match bytes[4] {
            0 => Kind::Messages,
            1 => Kind::Hello,
            2 => Kind::Ping,
            3 => Kind::Chunk,
            _ => return Err(FrameError::Unknown("kind")),
        };
        let chunk = match bytes[7] {
            0 => Chunk::Whole,
            1 => Chunk::First,
            2 => Chunk::Middle,
            3 => Chunk::Last,
            _ => return Err(FrameError::Unknown("chunk")),
        };
        if bytes[5] & !FLAG_ZSTD != 0 {
            return Err(FrameError::Unknown("flag"));
        }
        if (kind == Kind::Chunk) != (chunk != Chunk::Whole) {
            return Err(FrameError::Unknown("combination of kind and chunk"));
        }
        Ok(Self {
            length,
            kind,
            flags: bytes[5],
            priority: bytes[6],
            chunk,
            stream: word(8),
            credit: word(12),
        })
    }
}

/// Takes a payload of whole messages apart. Nothing is copied.
pub fn messages(mut payload: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), FrameError> {
    while !payload.is_empty() {
        let Some((length, rest)) = payload.split_first_chunk::<4>() else {
            return Err(FrameError::Damaged("a message's length is cut off"));
        };
        let length = u32::from_be_bytes(*length) as usize;
        let Some((message, rest)) = rest.split_at_checked(length) else {
            return Err(FrameError::Damaged("a message is longer than its frame"));
        };
        each(message);
        payload = rest;
    }
    Ok(())
}

/// The payload uncompressed, never more than a frame may hold.
pub fn unpack(header: &Header, payload: Vec<u8>) -> Result<Vec<u8>, FrameError> {
    if header.flags & FLAG_ZSTD == 0 {
        return Ok(payload);
    }
    zstd::bulk::decompress(&payload, PAYLOAD_BYTES_MAX)
        .map_err(|_| FrameError::Damaged("it does not decompress within the limit"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_header_is_read_or_refused(bytes: [u8; HEADER_BYTES]) {
            if let Ok(header) = Header::parse(&bytes) {
                prop_assert_eq!(header.to_bytes(), bytes);
                prop_assert!(header.length as usize <= PAYLOAD_BYTES_MAX);
            }
        }

        #[test]
        fn any_payload_is_read_or_refused(payload: Vec<u8>, flags in 0u8..2) {
            let header = Header { flags, ..Header::new(Kind::Messages, payload.len() as u32) };
            let mut bytes = 0;
            if let Ok(unpacked) = unpack(&header, payload)
                && messages(&unpacked, |message| bytes += message.len() + 4).is_ok()
            {
                prop_assert_eq!(bytes, unpacked.len());
            }
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        let bomb = zstd::bulk::compress(&vec![0; PAYLOAD_BYTES_MAX + 1], 1).expect("compresses");
        let header = Header { flags: FLAG_ZSTD, ..Header::new(Kind::Messages, bomb.len() as u32) };
        assert!(matches!(unpack(&header, bomb), Err(FrameError::Damaged(_))));
    }
}
