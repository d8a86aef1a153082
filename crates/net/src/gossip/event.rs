//! The events of a gossip service.

use std::net::SocketAddr;

use super::error::RequestError;
use super::{MessageId, PeerId, Topic};

/// The number of a request of this node. A service never uses a number twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(super) u64);

/// The number of a peer's request, which can be answered once. A service never uses a number twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(super) u64);

/// An event of a gossip service. All events of a peer come between its `Connected` and its `Disconnected`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GossipEvent {
    /// A peer of this network is connected, and receives broadcasts from now on.
    Connected {
        /// The peer.
        peer: PeerId,
        /// The address at which the peer can probably be reached.
        address: SocketAddr,
    },
    /// The last connection of a peer has ended.
    Disconnected {
        /// The peer.
        peer: PeerId,
    },
    /// A message that has not been seen here in the last minute. It goes on to others once it is
    /// [accepted](super::GossipHandle::verdict), which has to be within ten seconds.
    Message {
        /// The peer that passed it on, which need not be its author.
        peer: PeerId,
        /// The topic of the message.
        topic: Topic,
        /// The id of the message, for the verdict.
        id: MessageId,
        /// The message.
        bytes: Vec<u8>,
    },
    /// A peer has sent a request.
    Request {
        /// The peer that asks.
        peer: PeerId,
        /// The number of the request, for the answer.
        ticket: Ticket,
        /// The question.
        bytes: Vec<u8>,
    },
    /// The end of a request of this node. There is exactly one such event for each request.
    Response {
        /// The peer that was asked.
        peer: PeerId,
        /// Which request.
        request: RequestId,
        /// The answer, or the reason why there is none.
        result: Result<Vec<u8>, RequestError>,
    },
}

impl GossipEvent {
    /// Returns the memory that the event takes while it waits, in bytes.
    pub(super) fn cost(&self) -> usize {
        let bytes = match self {
            Self::Message { bytes, .. } | Self::Request { bytes, .. } => bytes.len(),
            Self::Response {
                result: Ok(bytes), ..
            } => bytes.len(),
            _ => 0,
        };
        bytes + size_of::<Self>()
    }
}
