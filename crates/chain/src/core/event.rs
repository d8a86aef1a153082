//! The events of a node's core.

use std::fmt;

use primitives::{KeyPair, hex};

use crate::{ChainId, Height, Transaction};

/// A peer, identified by its public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub [u8; 32]);

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex::encode(&self.0[..8]))
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A number that links an answer to its question.
pub type Ticket = u64;

/// The reason why a request to a peer has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFailure {
    /// The peer did not answer in time.
    Late,
    /// The peer has disconnected, or was never connected.
    Gone,
    /// The peer refused, or its answer was too long.
    Refused,
    /// This node had no room for the question or its answer. The peer is not to blame.
    NoRoom,
}

/// An event. The events of a round are handled in order, and then the round is flushed.
#[derive(Clone, Debug)]
pub enum Event {
    /// A peer of this network is connected.
    PeerUp(PeerId),
    /// A peer has disconnected.
    PeerDown(PeerId),
    /// A gossiped message. It is forwarded to other peers only after [`super::Action::Verdict`] has accepted it.
    Gossip {
        /// The peer that relayed it, which may not be its author.
        peer: PeerId,
        /// The message's number in the transport.
        message: Ticket,
        /// The message, encoded.
        bytes: Vec<u8>,
    },
    /// A peer asks a question.
    Asked {
        /// The peer.
        peer: PeerId,
        /// The ticket for the answer.
        ticket: Ticket,
        /// The question, encoded.
        bytes: Vec<u8>,
    },
    /// A peer's answer to [`super::Action::Ask`].
    Answered {
        /// The peer.
        peer: PeerId,
        /// The number of the question.
        ticket: Ticket,
        /// The encoded answer, or the reason why there is none.
        result: Result<Vec<u8>, RequestFailure>,
    },
    /// Transactions of this node's clients with unchecked signatures. They are answered together, each with its own outcome.
    Submit {
        /// The ticket for [`super::Action::Submitted`].
        ticket: Ticket,
        /// The transactions. The API bounds their number.
        transactions: Vec<Transaction>,
    },
    /// An operator starts forging with a key.
    StartForging(KeyPair),
    /// An operator stops forging with a key.
    StopForging([u8; 32]),
    /// An operator starts bundling for an account.
    StartBundling(crate::bundle::Bundler),
    /// An operator stops bundling for an account.
    StopBundling {
        /// The bundler's key.
        key: [u8; 32],
        /// The child chain.
        child: ChainId,
    },
    /// An operator rolls the chain back to a height, regardless of peers' branches.
    PopOff {
        /// The ticket for [`super::Action::Done`].
        ticket: Ticket,
        /// The height that becomes the tip.
        height: Height,
    },
    /// An operator empties the pool.
    ClearPool {
        /// The ticket for [`super::Action::Done`].
        ticket: Ticket,
    },
    /// An operator deletes the bodies of all but the newest blocks, once.
    Prune {
        /// The ticket for [`super::Action::Done`].
        ticket: Ticket,
        /// Number of newest blocks whose bodies are kept, at least the number that consensus needs.
        keep: u32,
    },
    /// An operator accepts a branch beyond the rollback limit by naming a block that must be on the chain.
    Trust {
        /// The ticket for [`super::Action::Done`].
        ticket: Ticket,
        /// The block's height.
        height: Height,
        /// The block's hash.
        hash: primitives::Hash,
    },
}
