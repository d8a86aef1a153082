//! The counters of the gossip service.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of a gossip service since its start. `peers` is the current number.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct GossipFigures {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The counters behind [`GossipFigures`].
        #[derive(Debug, Default)]
        pub(super) struct Counters {
            $(pub(super) $name: Count,)*
        }

        impl Counters {
            pub(super) fn figures(&self) -> GossipFigures {
                GossipFigures { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Peers connected now.
    peers,
    /// Bytes read from sockets, encryption and protocol overhead included.
    bytes_in,
    /// Bytes written to sockets, encryption and protocol overhead included.
    bytes_out,
    /// Messages received, duplicates included. The difference to the delivered ones is the number of duplicates.
    messages_seen,
    /// Messages about transactions that were received and delivered to the application.
    transactions_in,
    /// Messages about transactions that were broadcast from here.
    transactions_out,
    /// Messages about blocks that were received and delivered to the application.
    blocks_in,
    /// Messages about blocks that were broadcast from here.
    blocks_out,
    /// Messages accepted here, and so passed on.
    accepted,
    /// Messages ignored here.
    ignored,
    /// Messages rejected here.
    rejected,
    /// Verdicts that came too late: the message was not passed on.
    late_verdicts,
    /// Broadcasts of messages that this node or another had already sent.
    duplicates,
    /// Broadcasts without any connected peer.
    unheard,
    /// Broadcasts that were dropped because the queues of all peers were full.
    dropped_full,
    /// Messages dropped because they waited for too long in the queue of a slow peer.
    dropped_slow,
    /// Messages and requests dropped because their sender went beyond its rate.
    dropped_rate,
    /// Requests sent.
    requests_out,
    /// Requests received and delivered to the application.
    requests_in,
    /// Requests of this node that ended without an answer.
    requests_failed,
    /// Requests of peers that were refused: too many at once, or malformed.
    requests_refused,
    /// Answers sent.
    answers_out,
    /// Connections refused or ended in their handshake.
    refused,
    /// Attempts to reach an address that failed.
    unreachable,
    /// Peers banned.
    bans,
    /// Peers dismissed because they were not useful, or less useful than others.
    dismissed,
}

/// A counter or a gauge.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn set(&self, count: usize) {
        self.0.store(count as u64, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
