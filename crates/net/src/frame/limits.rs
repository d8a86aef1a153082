//! The sizes and limits of frames.

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;
/// Maximum size of a body, in bytes, both as sent and decompressed.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// Maximum size of a hello's body, in bytes.
pub const HELLO_BYTES_MAX: usize = 1_024;
/// Streams of a connection.
pub const STREAMS_MAX: usize = 16;
/// Credit that a message costs in addition to its length, in bytes, so that many empty messages are bounded too.
pub const MESSAGE_OVERHEAD: usize = 64;
