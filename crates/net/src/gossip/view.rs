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
    /// Where it can be reached, as far as one can tell from here.
    pub address: Option<SocketAddr>,
    /// The side that dialled the oldest standing connection; none if the peer is not connected.
    pub direction: Option<Direction>,
    /// Since when it is connected, and of our network.
    pub since: Option<SystemTime>,
    /// Points against it; at [`BAN_POINTS`](super::BAN_POINTS) it is banned. One is forgiven each second.
    pub points: u32,
    /// Until when it is banned.
    pub banned_until: Option<SystemTime>,
    /// Why it was refused, penalised or banned the last time.
    pub reason: Option<String>,
    /// Its software, in its own words.
    pub software: String,
    /// How long the last ping took.
    pub round_trip: Option<Duration>,
    /// Bytes read from the connections that stand, encryption and all included.
    pub bytes_in: u64,
    /// Bytes written to the connections that stand, encryption and all included.
    pub bytes_out: u64,
    /// Messages that it was the first to pass on to us.
    pub messages_in: u64,
    /// Messages of it that were rejected.
    pub rejected: u64,
    /// Requests of it that were handed on.
    pub requests_in: u64,
    /// Requests sent to it.
    pub requests_out: u64,
}
