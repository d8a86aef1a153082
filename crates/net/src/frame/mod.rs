//! Frames: the byte layout between nodes, inside TLS.
//!
//! Every frame is a header of 16 bytes and a body. Numbers are unsigned and big-endian.
//!
//! ```text
//! offset size field
//!  0     4    length      bytes of the body as carried, at most 1 MiB
//!  4     1    kind        1 hello, 2 batch, 3 chunk, 4 credit, 5 ping, 6 pong
//!  5     1    flags       bit 0 the body is compressed (zstd); bit 1 first chunk; bit 2 last chunk; others 0
//!  6     1    priority    0 is the most urgent; of batches and chunks
//!  7     1    zero
//!  8     4    stream      of batches and chunks: the lane whose order and credit they share, below 16; else 0
//! 12     4    raw length  bytes of the body once decompressed, at most 1 MiB; equals length if it is not compressed
//! 16          body
//! ```
//!
//! | kind | body |
//! |---|---|
//! | hello | see [`Hello`]; the first frame of either side, and only that |
//! | batch | one or more messages, each its length (4 bytes) and its bytes |
//! | chunk | a part of one message; the first begins with the message's length (4 bytes), the last completes it exactly |
//! | credit | one or more grants, each a stream (4 bytes) and bytes (4 bytes) |
//! | ping, pong | 8 bytes; a pong returns those of the ping |
//!
//! # Streams and credit
//! Messages of one stream arrive in the order in which they were sent. A stream has at most one unfinished message, and
//! frames of other streams may come between its chunks. A message costs its length and 64 bytes of the stream's credit, all
//! of it when it begins. It may begin while the credit is above zero, so a receiver never holds more of a stream than the
//! window it announced in its hello and one message. A peer that begins a message without credit is cut off.

mod decoder;
mod error;
mod header;
mod hello;
mod limits;

pub use decoder::FrameDecoder;
pub use error::FrameError;
pub use header::{Flags, Header, Kind};
pub use hello::{Hello, HelloError, PROTOCOL_VERSION, SOFTWARE_CHARS_MAX};
pub use limits::{BODY_BYTES_MAX, HEADER_BYTES, HELLO_BYTES_MAX, MESSAGE_OVERHEAD, STREAMS_MAX};
