//! The messages to the chain's core.

use chain::core::Event;
use runtime::{Handle, Messages};

use super::queries::ChainQuery;

/// The messages that the chain's core takes.
pub(super) struct ChainMessages;

impl Messages for ChainMessages {
    type Event = Event;
    type Query = ChainQuery;

    fn peer_bytes(event: &Event) -> usize {
        match event {
            Event::Gossip { bytes, .. } | Event::Asked { bytes, .. } => bytes.len(),
            Event::Answered { result, .. } => result.as_ref().map_or(0, Vec::len),
            _ => 0,
        }
    }
}

/// The way to the chain's core.
pub(super) type CoreHandle = Handle<ChainMessages>;
