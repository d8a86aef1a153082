//! What the connections count.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start, of all connections.
#[derive(Debug, Default)]
pub struct NetStats {
    /// Messages sent.
    pub messages_out: AtomicU64,
    /// Messages received.
    pub messages_in: AtomicU64,
    /// Bytes of messages sent, before compression.
    pub bytes_out: AtomicU64,
    /// Bytes of messages received, after decompression.
    pub bytes_in: AtomicU64,
    /// Bytes of frames sent.
    pub wire_out: AtomicU64,
    /// Bytes of frames received.
    pub wire_in: AtomicU64,
    /// Frames sent.
    pub frames_out: AtomicU64,
    /// Messages dropped because their peer is away or its queue is full; the protocols above send them again.
    pub dropped: AtomicU64,
    /// Connections made.
    pub connections: AtomicU64,
    /// Connections refused.
    pub refused: AtomicU64,
}

pub(crate) fn add(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}
