//! Why a frame is refused.

use primitives::Coded;
use thiserror::Error;

use super::{BODY_BYTES_MAX, STREAMS_MAX};
use crate::errors;

/// Bytes that are no frame of this protocol, or a frame that breaks its rules. The connection ends.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A body larger than any frame may have.
    #[error("a frame of {0} bytes; the limit is {BODY_BYTES_MAX}")]
    TooLarge(u64),
    /// A kind of frame that is not known, or not allowed here.
    #[error("frame kind {0} is unknown, or not allowed at this point of the connection")]
    Kind(u8),
    /// Flags that do not fit the kind, or are not known.
    #[error("a frame of kind {kind} with flags {flags:#04x}")]
    Flags {
        /// The kind.
        kind: u8,
        /// The flags.
        flags: u8,
    },
    /// A field that must be zero is not, or a stream is out of range.
    #[error("a header with a field out of range; streams are below {STREAMS_MAX}")]
    Field,
    /// The body does not decompress to the length in its header.
    #[error("body does not decompress to the length in its header")]
    Compression,
    /// The body does not have the form that its kind requires.
    #[error("malformed body of a {0} frame")]
    Body(&'static str),
    /// A chunk that does not continue the unfinished message of its stream.
    #[error("unexpected chunk on stream {0}: it does not continue the unfinished message")]
    Chunk(u32),
    /// A message larger than the limit of this node.
    #[error("message of {size} bytes exceeds the limit of {limit}")]
    MessageTooLarge {
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A message begun without credit.
    #[error("message on stream {0} begun without credit")]
    NoCredit(u32),
    /// A grant that makes the credit overflow.
    #[error("grant of credit on stream {0} overflows")]
    Grant(u32),
}

impl Coded for FrameError {
    fn code(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "net.frame_too_large",
            Self::MessageTooLarge { .. } => "net.message_too_large",
            Self::NoCredit(_) => "net.credit_exceeded",
            _ => "net.bad_frame",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}
