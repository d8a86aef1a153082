//! The header of a frame.

use super::{BODY_BYTES_MAX, FrameError, HEADER_BYTES, STREAMS_MAX};

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The sender's hello; the first frame of either side.
    Hello = 1,
    /// Whole messages.
    Batch = 2,
    /// A part of a message.
    Chunk = 3,
    /// Grants of credit.
    Credit = 4,
    /// Asks for a pong.
    Ping = 5,
    /// Answers a ping.
    Pong = 6,
}

/// The flags of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The body is compressed with zstd.
    pub compressed: bool,
    /// The first chunk of a message.
    pub first: bool,
    /// The last chunk of a message.
    pub last: bool,
}

/// The header of a frame: see the [module](super) for its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the body as carried.
    pub length: u32,
    /// The kind of the frame.
    pub kind: Kind,
    /// The frame's flags.
    pub flags: Flags,
    /// 0 is the most urgent.
    pub priority: u8,
    /// The stream, whose order and credit the frame shares.
    pub stream: u32,
    /// Bytes of the body once decompressed.
    pub raw_length: u32,
}

const COMPRESSED: u8 = 1;
const FIRST: u8 = 2;
const LAST: u8 = 4;

impl Header {
    /// Returns the header of a body that is not compressed.
    ///
    /// # Panics
    /// The length does not fit its field. Bodies that this crate makes are far below that.
    pub fn new(kind: Kind, length: usize) -> Self {
        let length = u32::try_from(length).expect("a body is far below 4 GiB");
        Self {
            length,
            kind,
            flags: Flags::default(),
            priority: 0,
            stream: 0,
            raw_length: length,
        }
    }

    /// The bytes.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&self.length.to_be_bytes());
        bytes[4] = self.kind as u8;
        bytes[5] = self.flags.to_byte();
        bytes[6] = self.priority;
        bytes[8..12].copy_from_slice(&self.stream.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.raw_length.to_be_bytes());
        bytes
    }

    /// Reads a header and checks that its fields are within all limits.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, FrameError> {
        let [
            l0,
            l1,
            l2,
            l3,
            kind,
            flags,
            priority,
            zero,
            s0,
            s1,
            s2,
            s3,
            r0,
            r1,
            r2,
            r3,
        ] = *bytes;
        let length = u32::from_be_bytes([l0, l1, l2, l3]);
        let raw_length = u32::from_be_bytes([r0, r1, r2, r3]);
        let header = Self {
            length,
            kind: Kind::parse(kind)?,
            flags: Flags::parse(flags).ok_or(FrameError::Flags { kind, flags })?,
            priority,
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            raw_length,
        };
        let largest = length.max(raw_length);
        if largest as usize > BODY_BYTES_MAX {
            return Err(FrameError::TooLarge(largest.into()));
        }
        header.check(zero)?;
        Ok(header)
    }

    fn check(&self, zero: u8) -> Result<(), FrameError> {
        let Flags {
            compressed,
            first,
            last,
        } = self.flags;
        let carries = matches!(self.kind, Kind::Batch | Kind::Chunk);
        if (compressed && !carries) || ((first || last) && self.kind != Kind::Chunk) {
            return Err(FrameError::Flags {
                kind: self.kind as u8,
                flags: self.flags.to_byte(),
            });
        }
        let in_range = zero == 0
            && (carries || (self.priority == 0 && self.stream == 0))
            && (self.stream as usize) < STREAMS_MAX
            && (compressed || self.raw_length == self.length);
        if in_range {
            Ok(())
        } else {
            Err(FrameError::Field)
        }
    }
}

impl Kind {
    fn parse(byte: u8) -> Result<Self, FrameError> {
        Ok(match byte {
            1 => Self::Hello,
            2 => Self::Batch,
            3 => Self::Chunk,
            4 => Self::Credit,
            5 => Self::Ping,
            6 => Self::Pong,
            _ => return Err(FrameError::Kind(byte)),
        })
    }
}

impl Flags {
    fn to_byte(self) -> u8 {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        bit(self.compressed, COMPRESSED) | bit(self.first, FIRST) | bit(self.last, LAST)
    }

    fn parse(byte: u8) -> Option<Self> {
        (byte & !(COMPRESSED | FIRST | LAST) == 0).then_some(Self {
            compressed: byte & COMPRESSED != 0,
            first: byte & FIRST != 0,
            last: byte & LAST != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch() -> [u8; HEADER_BYTES] {
        let header = Header {
            priority: 1,
            stream: 1,
            ..Header::new(Kind::Batch, 0x0102)
        };
        header.to_bytes()
    }

    #[test]
    fn the_layout_is_as_documented() {
        let bytes = [0, 0, 1, 2, 2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 2];
        assert_eq!(batch(), bytes);
        let chunk = Header {
            flags: Flags {
                compressed: true,
                first: true,
                last: false,
            },
            raw_length: 70_000,
            ..Header::new(Kind::Chunk, 5)
        };
        let bytes = [0, 0, 0, 5, 3, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0x11, 0x70];
        assert_eq!(chunk.to_bytes(), bytes);
        assert_eq!(Header::parse(&bytes), Ok(chunk));
    }

    #[test]
    fn refused() {
        let large = u64::from(u32::MAX);
        for (change, error) in [
            (
                &[(0, 0xff), (1, 0xff), (2, 0xff), (3, 0xff)][..],
                FrameError::TooLarge(large),
            ),
            (
                &[(12, 0xff), (13, 0xff), (14, 0xff), (15, 0xff)],
                FrameError::TooLarge(large),
            ),
            (&[(4, 0)], FrameError::Kind(0)),
            (&[(4, 7)], FrameError::Kind(7)),
            (&[(5, 8)], FrameError::Flags { kind: 2, flags: 8 }),
            (&[(5, 2)], FrameError::Flags { kind: 2, flags: 2 }),
            (&[(4, 5), (5, 1)], FrameError::Flags { kind: 5, flags: 1 }),
            (&[(7, 1)], FrameError::Field),
            (&[(11, 16)], FrameError::Field),
            (&[(15, 3)], FrameError::Field),
            (&[(4, 5)], FrameError::Field),
        ] {
            let mut bytes = batch();
            for (at, byte) in change {
                bytes[*at] = *byte;
            }
            assert_eq!(Header::parse(&bytes), Err(error), "{change:?}");
        }
    }
}
