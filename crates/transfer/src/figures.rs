//! Counters and gauges of the transfers.

/// Counters since the start, and current gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes of files that were received and accepted.
    pub bytes_in: u64,
    /// Bytes of files that were sent.
    pub bytes_out: u64,
    /// Files that arrived.
    pub arrived: u64,
    /// Files that arrived in more than one attempt, because of a crash or a lost connection.
    pub resumed: u64,
    /// Fetches that ended without the file.
    pub failed: u64,
    /// Times that a silent peer was asked again.
    pub asked_again: u64,
    /// Files whose hash was not the requested one.
    pub mismatched: u64,
    /// Bytes that were not requested or came twice, and were dropped.
    pub unasked_bytes: u64,
    /// Messages that could not be decoded.
    pub malformed: u64,
    /// Requests of peers that were refused.
    pub refused: u64,
    /// Fetches that wait or receive bytes.
    pub fetches: u64,
    /// Files that this node is receiving.
    pub moving: u64,
    /// Files that peers may ask parts of.
    pub served: u64,
    /// Bytes of memory reserved for fetches: asked for, or waiting for the disk.
    pub memory_in: u64,
    /// Bytes of memory reserved for serving: being read, or waiting for the network.
    pub memory_out: u64,
}
