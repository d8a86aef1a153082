//! Windows of HTTP/2: bytes of bodies that clients may send before the server has read them.
//!
//! Such bytes lie in memory outside the budget of bodies. Smaller windows broke connections under full load, so each connection
//! has the same window however many there are.

/// The window of a connection, in bytes.
const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;
/// The window of a stream, in bytes.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;

/// The windows of a server's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Windows;

impl Windows {
    /// The window of a connection, in bytes.
    pub(super) fn of_connection(self) -> u32 {
        CONNECTION_WINDOW_BYTES
    }

    /// The window of each stream of a connection, in bytes.
    pub(super) fn of_stream(self) -> u32 {
        STREAM_WINDOW_BYTES
    }
}
