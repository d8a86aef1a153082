//! The public view of a peer.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use super::PeerId;

/// The side that dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The peer.
    Inbound,
    /// This node.
    Outbound,
}

/// The known facts about a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerView {
    /// The peer.
    pub id: PeerId,
    /// The address at which the peer can probably be reached.
    pub address: Option<SocketAddr>,
    /// The side that dialled the oldest standing connection; none if the peer is not connected.
    pub direction: Option<Direction>,
    /// The time at which its introduction was complete.
    pub since: Option<SystemTime>,
    /// Points against it; at [`BAN_POINTS`](super::BAN_POINTS) it is banned. One is forgiven each second.
    pub points: u32,
    /// The end of its ban.
    pub banned_until: Option<SystemTime>,
    /// The reason of its last refusal, penalty or ban.
    pub reason: Option<String>,
    /// The software version that it names.
    pub software: String,
    /// The round-trip time of the last ping.
    pub round_trip: Option<Duration>,
    /// Bytes read from its open connections, encryption and protocol overhead included.
    pub bytes_in: u64,
    /// Bytes written to its open connections, encryption and protocol overhead included.
    pub bytes_out: u64,
    /// Messages that it was the first to pass on to us.
    pub messages_in: u64,
    /// Its messages that were rejected.
    pub rejected: u64,
    /// Its requests that were delivered to the application.
    pub requests_in: u64,
    /// Requests sent to it.
    pub requests_out: u64,
}
