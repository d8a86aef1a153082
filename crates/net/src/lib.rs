//! The only sockets between nodes: one mutually authenticated TLS 1.3 connection a pair, on which messages travel in frames.
//!
//! ```text
//!  caller's thread: send_many ─► queue per peer ─┬─ link free: frame, encrypt, write here (no thread hop)
//!                                                └─ link busy or socket full: the net thread writes
//!  net thread: read ─► decrypt ─► frames ─► Sink::deliver(batch)      accept, dial, hello, pings, credit
//! ```
//! It moves bytes and never interprets a message. Messages to a peer that is away, or that has a full queue, are dropped and
//! counted: the protocols above repeat unacknowledged messages.
//!
//! The chain's network is another one, in [`gossip`].

pub mod frame;
pub mod gossip;

// Configuration.
mod options;
mod tls;
// Message transport.
mod assembly;
mod compression;
mod outbox;
mod sink;
// Connections.
mod handshake;
mod history;
mod link;
mod peer;
mod reader;
mod service;
// The net thread.
mod accept;
mod dial;
mod handle;
mod shared;
mod transport;
// Errors and metrics.
mod errors;
mod metrics;
mod refusal;

pub use errors::ERRORS;
pub use handle::{Handle, PeerStatus, SendReport};
pub use history::{ConnectionEvent, HISTORY_MAX, PeerEvent};
pub use metrics::NetFigures;
pub use options::{Compression, NetLimits, Options, PeerAddress};
pub use outbox::{LANES, Sent};
pub use refusal::Refusal;
pub use sink::{Inbound, Sink};
pub use tls::{TlsMaterial, TlsMaterialError};
pub use transport::{StartError, Transport};
