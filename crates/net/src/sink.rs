//! The receiver of all incoming messages.

use ledger::PartyId;

/// An incoming event of the transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// A peer is connected; its messages follow. Messages sent to it before may be lost.
    PeerUp {
        /// The peer, authenticated.
        peer: PartyId,
        /// The number that names the peer's store.
        epoch: u64,
    },
    /// The connection has ended. Everything queued for it is dropped.
    PeerDown {
        /// The peer.
        peer: PartyId,
    },
    /// A message. Messages of one peer and one priority come in the order in which they were sent.
    Message {
        /// The peer, authenticated.
        peer: PartyId,
        /// The stream of the message, below 16. Nodes of this program use the message's priority as its stream.
        lane: u8,
        /// The message. Its bytes are not checked.
        bytes: Vec<u8>,
    },
}

/// The consumer's queue. All calls come from the one thread of the connections, with everything that one read of a socket
/// brought: a queue behind a lock pays one lock and at most one wake-up for a whole batch, and a message costs a move.
pub trait Sink: Send + Sync + 'static {
    /// Takes a batch, in order, and leaves the vector empty. Never blocks. A full sink says so in [`Sink::has_room`], and
    /// still takes the messages that were in flight.
    fn deliver(&self, batch: &mut Vec<Inbound>);

    /// Whether more is welcome. While it is not, peers get no further credit, so that each may finish its window and
    /// then waits; it is asked again every millisecond.
    fn has_room(&self) -> bool;
}
