//! The only sockets between nodes: one mutually authenticated TLS 1.3 connection with each peer, frames of many messages.
//!
//! It knows bytes and party ids. What it can't deliver it drops: the protocols above send again, and a peer that is away
//! costs nothing here.

mod connection;
mod frame;
mod hello;
mod incoming;
mod outgoing;
mod stats;
mod tls;
mod transport;

pub use frame::{FrameError, PAYLOAD_BYTES_MAX};
pub use stats::NetStats;
pub use tls::{TlsError, TlsMaterial};
pub use transport::{Consumer, ERRORS, Transport, TransportError, TransportOptions};
