//! The chain's peer-to-peer network: messages to all, requests to one, on libp2p.
//!
//! ```text
//!  GossipHandle ─ calls, bounded ─► service ─► gossipsub, request-response, identify, ping ─► noise, yamux, TCP
//!  GossipEvents ◄─ events, bounded ─┘  ▲ while events wait without room, nothing is read from peers
//! ```
//! It moves bytes and never interprets a message. Only messages that the application has accepted are passed on. A node is its
//! ed25519 key; nodes of different networks refuse each other. `docs/formats/chain-network.md` lists names, limits and rules.

// Options, events and counters.
mod error;
mod event;
mod metrics;
mod options;
mod peer_id;
mod topic;
// Tables that the service keeps.
mod arrivals;
mod asked;
mod book;
mod bucket;
mod network;
mod peer_view;
mod peers;
mod queue;
mod shared;
mod slots;
mod view;
// The wire.
mod behaviour;
mod codec;
mod exchange;
mod gate;
mod wire;
// What runs.
mod calls;
mod conduct;
mod handle;
mod incoming;
mod introduction;
mod service;
mod start;
mod traffic;

pub use behaviour::REQUEST_PATIENCE;
pub use codec::{REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX, RESPONSES_BYTES_MAX};
pub use conduct::{RATE_POINTS, REJECTED_POINTS, REQUEST_POINTS, WASTE_POINTS};
pub use error::{GossipError, GossipRefusal, RequestError, SendError};
pub use event::{GossipEvent, RequestId, Ticket};
pub use handle::GossipHandle;
pub use metrics::GossipFigures;
pub use options::{GossipLimits, GossipOptions};
pub use peer_id::{ParsePeerIdError, PeerId};
pub use peers::{BAN_POINTS, FORGIVEN_PER_SECOND};
pub use queue::GossipEvents;
pub use start::start;
pub use topic::{BLOCKS_BYTES_MAX, MessageId, TRANSACTIONS_BYTES_MAX, Topic, Verdict};
pub use view::{Direction, PeerView};
