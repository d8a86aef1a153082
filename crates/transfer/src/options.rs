//! Settings that bound the transfers.

/// Settings of [`Transfers`](crate::Transfers). Each budget counts one direction: fetching or serving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum bytes in memory. Fetching counts the bytes that are requested and have not come, and those that wait for the
    /// disk. Serving counts the bytes that are being read, and those that wait for the network. One chunk for each peer may
    /// exceed each budget, so that no peer shuts others out.
    pub memory_bytes: u64,
    /// The same for one peer.
    pub peer_bytes: u64,
    /// The same for one file that is fetched.
    pub file_bytes: u64,
    /// Bytes of a file in one message.
    pub chunk_bytes: u32,
    /// Files fetched at once. A peer without an active fetch may have one more.
    pub at_once: usize,
    /// Maximum files fetched from one peer at the same time.
    pub at_once_per_peer: usize,
    /// Bytes fetched in a second; 0 means unlimited.
    pub down_bytes_per_s: u64,
    /// Bytes served in a second; 0 means unlimited.
    pub up_bytes_per_s: u64,
    /// Time without progress of a file after which its peer is asked again, in milliseconds. It doubles with each repetition,
    /// up to eight times the value. Progress means at least one chunk, or 64 KiB if that is less, or all the bytes that were
    /// requested.
    pub silence_ms: u64,
    /// Maximum time that a fetch waits for a disconnected peer before it is given up for now, in milliseconds.
    pub away_ms: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes: 32 << 20,
            peer_bytes: 8 << 20,
            file_bytes: 2 << 20,
            chunk_bytes: 256 << 10,
            at_once: 32,
            at_once_per_peer: 8,
            down_bytes_per_s: 0,
            up_bytes_per_s: 0,
            silence_ms: 10_000,
            away_ms: 60_000,
        }
    }
}

/// Greatest budget of memory, in bytes.
const MEMORY_BYTES_MAX: u64 = 1 << 48;

impl Options {
    /// Adjusts the budgets: each holds at least one chunk, and a chunk is no larger than any of them.
    pub(crate) fn sound(mut self) -> Self {
        self.chunk_bytes = self.chunk_bytes.max(1);
        let chunk = u64::from(self.chunk_bytes);
        // The upper bound is no limit for a machine, and keeps every sum of budgets within 64 bits.
        self.memory_bytes = self.memory_bytes.clamp(chunk, MEMORY_BYTES_MAX);
        self.peer_bytes = self.peer_bytes.clamp(chunk, self.memory_bytes);
        self.file_bytes = self.file_bytes.clamp(chunk, self.peer_bytes);
        self.at_once = self.at_once.max(1);
        self.at_once_per_peer = self.at_once_per_peer.clamp(1, self.at_once);
        self.silence_ms = self.silence_ms.max(1);
        self
    }
}
