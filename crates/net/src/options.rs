//! The options of a transport.

use std::net::SocketAddr;
use std::time::Duration;

use ledger::PartyId;

use crate::tls::TlsMaterial;

/// Settings of a [`Transport`](crate::Transport).
#[derive(Debug)]
pub struct Options {
    /// This node.
    pub me: PartyId,
    /// A random number that names this node's store, kept as long as the store is.
    pub epoch: u64,
    /// This node's software, for people; cut after 64 characters.
    pub software: String,
    /// The address to listen on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Certificate, key and root.
    pub tls: TlsMaterial,
    /// The other nodes of the network, and their addresses. Of two nodes the one with the smaller id connects.
    pub peers: Vec<PeerAddress>,
    /// Whether frames are compressed.
    pub compression: Compression,
    /// How long to wait for more messages before a write, in microseconds. 0, the usual setting, never waits and lets the
    /// sending thread write. Below 1,000 the thread of all connections waits, which delays incoming messages as well.
    pub linger_us: u64,
    /// Bounds.
    pub limits: NetLimits,
}

/// A peer and its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    /// The peer.
    pub id: PartyId,
    /// Its name, for people.
    pub name: String,
    /// `host:port`, best first.
    pub addresses: Vec<String>,
}

/// Whether frames are compressed (zstd, level 1, only frames that become smaller).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Never. The hello also asks peers to send uncompressed frames.
    Off,
    /// Unless the peer is on this machine, where bandwidth costs nothing.
    #[default]
    Auto,
    /// Always.
    On,
}

/// Bounds of a [`Transport`](crate::Transport).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetLimits {
    /// Largest message that this node accepts, in bytes. It tells the limit to its peers. At most 1 GiB
    /// (`net.message_too_large`).
    pub message_bytes_max: u32,
    /// Messages that wait for one peer, in bytes; more are dropped. At least twice the largest message.
    pub queue_bytes_max: usize,
    /// Credit of each stream of each peer, in bytes: the most that a peer may have sent and this node has not yet taken.
    pub window_bytes: u32,
    /// Bytes taken from sockets after the sink was full; beyond, sockets are not read until it has room.
    pub overrun_bytes_max: usize,
    /// Connections in their handshake at once; the oldest is given up for a new one (`net.too_many_handshakes`).
    pub handshakes_max: usize,
    /// For a new connection to be reached and to agree on TLS, and again to exchange hellos. For both together if the peer connects.
    pub handshake_timeout: Duration,
    /// Time after which the next address of a peer is tried as well, while the one before has not answered.
    pub next_address_after: Duration,
    /// Time for an answer to a ping after the peer has announced itself over another connection.
    pub answer_after_announcement: Duration,
    /// Silence of a peer after which it is pinged.
    pub ping_after: Duration,
    /// Silence of a peer after which its connection is given up.
    pub silence_max: Duration,
    /// First pause between attempts to reach a peer; it doubles with each.
    pub back_off_min: Duration,
    /// Longest pause between attempts to reach a peer.
    pub back_off_max: Duration,
}

impl Default for NetLimits {
    fn default() -> Self {
        Self {
            message_bytes_max: 10 << 20,
            queue_bytes_max: 32 << 20,
            window_bytes: 2 << 20,
            overrun_bytes_max: 32 << 20,
            handshakes_max: 64,
            handshake_timeout: Duration::from_secs(5),
            next_address_after: Duration::from_millis(500),
            answer_after_announcement: Duration::from_secs(1),
            ping_after: Duration::from_secs(10),
            silence_max: Duration::from_secs(30),
            back_off_min: Duration::from_millis(50),
            back_off_max: Duration::from_secs(5),
        }
    }
}

/// Largest message that any setting allows, in bytes.
const MESSAGE_BYTES_MAX: u32 = 1 << 30;
/// Longest wait for more before a write, in microseconds.
const LINGER_US_MAX: u64 = 20_000;

impl Options {
    /// Returns the name of the first setting that is out of range.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let limits = &self.limits;
        let size = limits.message_bytes_max;
        if size == 0 || size > MESSAGE_BYTES_MAX {
            return Err("message_bytes_max is 1 byte to 1 GiB");
        }
        if limits.queue_bytes_max < 2 * size as usize {
            return Err("queue_bytes_max is at least twice message_bytes_max");
        }
        if limits.window_bytes < 1 << 10 || limits.window_bytes > MESSAGE_BYTES_MAX {
            return Err("window_bytes is 1 KiB to 1 GiB");
        }
        if self.linger_us > LINGER_US_MAX {
            return Err("linger_us is at most 20000");
        }
        if limits.handshakes_max == 0 || limits.ping_after >= limits.silence_max {
            return Err("handshakes_max is at least 1 and ping_after below silence_max");
        }
        if limits.back_off_min.is_zero() || limits.back_off_min > limits.back_off_max {
            return Err("back_off_min is above 0 and not above back_off_max");
        }
        Ok(())
    }
}
