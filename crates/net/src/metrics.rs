//! The counters of the connections.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of a transport since it started.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct NetFigures {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The counters behind [`NetFigures`].
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        impl Counters {
            pub(crate) fn figures(&self) -> NetFigures {
                NetFigures { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Messages delivered to the sink.
    messages_in,
    /// Messages written to connections.
    messages_out,
    /// Bytes of messages delivered to the sink.
    bytes_in,
    /// Bytes of messages written to connections.
    bytes_out,
    /// Bytes read from sockets, TLS and frames included.
    wire_bytes_in,
    /// Bytes written to sockets, TLS and frames included.
    wire_bytes_out,
    /// Frames received.
    frames_in,
    /// Frames made.
    frames_out,
    /// Reads of sockets that returned bytes.
    reads,
    /// Writes to sockets.
    writes,
    /// Connections established.
    connected,
    /// Established connections that have ended.
    disconnected,
    /// Connections refused or abandoned during their handshake.
    refused,
    /// Attempts to reach a peer that failed.
    unreachable,
    /// Messages dropped because the queue of their peer was full.
    dropped_full,
    /// Messages dropped because their peer was not connected or not known.
    dropped_down,
    /// Messages dropped because they exceed the message limit of their peer.
    dropped_too_large,
}

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
