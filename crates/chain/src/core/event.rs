//! What happens to a node's core.

use std::fmt;

use primitives::{KeyPair, hex};

use crate::{ChainId, Transaction};

/// A peer: its public key.
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

/// A number by which an answer finds who asked.
pub type Ticket = u64;

/// Why a request to a peer has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFailure {
    /// It did not answer in time.
    Late,
    /// It is gone, or never was connected.
    Gone,
    /// It refused, or what it sent was too long.
    Refused,
    /// This node had no room for the question or its answer: no fault of the peer's.
    NoRoom,
}

/// One thing that happened. Events of a round are handled in order; then the round is flushed.
#[derive(Clone, Debug)]
pub enum Event {
    /// A peer of this network is connected.
    PeerUp(PeerId),
    /// It is no longer.
    PeerDown(PeerId),
    /// A gossiped message; it goes on to other peers only after [`super::Action::Verdict`] has accepted it.
    Gossip {
        /// Who brought it (not who wrote it).
        peer: PeerId,
        /// The message's number in the transport.
        message: Ticket,
        /// The message, encoded.
        bytes: Vec<u8>,
    },
    /// A peer asks.
    Asked {
        /// Who.
        peer: PeerId,
        /// For the answer.
        ticket: Ticket,
        /// The question, encoded.
        bytes: Vec<u8>,
    },
    /// A peer's answer to [`super::Action::Ask`].
    Answered {
        /// Who.
        peer: PeerId,
        /// The number of the question.
        ticket: Ticket,
        /// The answer, encoded, or why there is none.
        result: Result<Vec<u8>, RequestFailure>,
    },
    /// Transactions of this node's clients, signatures not yet checked. All are answered together, each for itself.
    Submit {
        /// For [`super::Action::Submitted`].
        ticket: Ticket,
        /// A bounded number: the API has seen to it.
        transactions: Vec<Transaction>,
    },
    /// An operator lets an account forge here.
    StartForging(KeyPair),
    /// And no longer.
    StopForging([u8; 32]),
    /// An operator lets an account bundle here.
    StartBundling(crate::bundle::Bundler),
    /// And no longer.
    StopBundling {
        /// The bundler's key.
        key: [u8; 32],
        /// The child chain.
        child: ChainId,
    },
    /// An operator rolls the chain back to a height, whatever peers say.
    PopOff {
        /// For [`super::Action::Done`].
        ticket: Ticket,
        /// The height that becomes the tip.
        height: u32,
    },
    /// An operator empties the pool.
    ClearPool {
        /// For [`super::Action::Done`].
        ticket: Ticket,
    },
    /// An operator lets the bodies of all but the newest blocks go, once.
    Prune {
        /// For [`super::Action::Done`].
        ticket: Ticket,
        /// The newest blocks whose bodies stay; never fewer than consensus needs.
        keep: u32,
    },
    /// An operator accepts a branch beyond the rollback limit (after a stop): the block that must be on the chain.
    Trust {
        /// For [`super::Action::Done`].
        ticket: Ticket,
        /// Its height.
        height: u32,
        /// Its hash.
        hash: primitives::Hash,
    },
}
