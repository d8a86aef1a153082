//! The errors of the gossip service, each with its code.

use std::net::SocketAddr;
use std::time::Duration;

use primitives::Coded;
use thiserror::Error;

use super::PeerId;
use crate::errors;

/// Why a gossip service does not start.
#[derive(Debug, Error)]
pub enum GossipError {
    /// The address cannot be listened on.
    #[error("cannot listen for peers of the chain on {address}: {why}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The operating system's error text.
        why: String,
    },
    /// A setting is out of range.
    #[error("connections between nodes of the chain: {0}")]
    Option(&'static str),
}

/// Why a message was not sent. No event follows; the caller may try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// The queue of calls is full.
    #[error("too much waits to be sent")]
    Busy,
    /// The message is larger than the network's limit.
    #[error("{bytes} bytes are more than the {max} that nodes take")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit of the network.
        max: usize,
    },
    /// The service has ended.
    #[error("the gossip service has stopped")]
    Stopped,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The deadline has passed.
    #[error("no answer within {} ms", .0.as_millis())]
    Deadline(Duration),
    /// The peer is not connected, or has disconnected.
    #[error("the peer is not connected")]
    NotConnected,
    /// The peer closed the request without an answer, or sent something else.
    #[error("the peer did not answer: {0}")]
    NoAnswer(String),
    /// Too many requests are in flight.
    #[error("too many requests in flight: {0}")]
    TooMany(usize),
    /// The budget for long answers that arrive at the same time is used up.
    #[error("the budget for incoming answers is used up")]
    NoRoom,
}

/// Why a connection of the chain's network is refused or ended.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GossipRefusal {
    /// A node of another network.
    #[error("it belongs to another network: {0}")]
    OtherNetwork(String),
    /// Not ready in time.
    #[error("it was not ready within {} ms", .0.as_millis())]
    HandshakeTimeout(Duration),
    /// The other end is not a node.
    #[error("the connection broke during its handshake: {0}")]
    HandshakeFailed(String),
    /// No room.
    #[error("there are too many connections: {0}")]
    TooMany(&'static str),
    /// The peer is banned.
    #[error("peer {0} is banned")]
    Banned(PeerId),
    /// A second connection of the same peer.
    #[error("peer {0} is connected already")]
    Twice(PeerId),
    /// A key that nodes do not have.
    #[error("its key is not ed25519")]
    OtherKey,
    /// No node answers at that address.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// No answer to pings.
    #[error("it is silent: {0}")]
    Silent(String),
}

impl Coded for GossipError {
    fn code(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "gossip.listen_failed",
            Self::Option(_) => "gossip.bad_option",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl Coded for SendError {
    fn code(&self) -> &'static str {
        match self {
            Self::Busy => "gossip.busy",
            Self::TooLarge { .. } => "gossip.message_too_large",
            Self::Stopped => "gossip.stopped",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl Coded for RequestError {
    fn code(&self) -> &'static str {
        match self {
            Self::Deadline(_) => "gossip.request_timeout",
            Self::NotConnected => "gossip.not_connected",
            Self::NoAnswer(_) => "gossip.no_answer",
            Self::TooMany(_) | Self::NoRoom => "gossip.too_many_requests",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl Coded for GossipRefusal {
    fn code(&self) -> &'static str {
        match self {
            Self::OtherNetwork(_) => "gossip.other_network",
            Self::HandshakeTimeout(_) => "gossip.handshake_timeout",
            Self::HandshakeFailed(_) | Self::OtherKey => "gossip.handshake_failed",
            Self::TooMany(_) => "gossip.too_many_connections",
            Self::Banned(_) => "gossip.banned",
            Self::Twice(_) => "gossip.connected_twice",
            Self::Unreachable(_) => "gossip.unreachable",
            Self::Silent(_) => "gossip.silent",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}
