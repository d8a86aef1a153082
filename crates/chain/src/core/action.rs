//! The actions that a node's core requests. All actions of a round are performed in order after its batch is durable.

use std::time::Duration;

use primitives::Hash;

use super::{Equivocation, OrderDone, PeerId, Ticket};
use crate::{Header, Height, Rejection, TxId};

/// The decision about a gossiped message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Forward it to other peers.
    Accept,
    /// Do not forward it. No peer is to blame.
    Ignore,
    /// Do not forward it, and blame the peer that sent it.
    Reject,
}

/// An action to perform.
#[derive(Clone, Debug)]
pub enum Action {
    /// Gossip to all peers.
    Gossip(Vec<u8>),
    /// Report the decision about a gossiped message.
    Verdict {
        /// The message's number in the transport.
        message: Ticket,
        /// The decision.
        verdict: Verdict,
    },
    /// Ask a peer. An [`super::Event::Answered`] with the same ticket always follows.
    Ask {
        /// The peer to ask.
        peer: PeerId,
        /// The question's number, chosen by the core.
        ticket: Ticket,
        /// The question.
        bytes: Vec<u8>,
        /// Maximum wait.
        patience: Duration,
    },
    /// Answer a peer's question.
    Answer {
        /// The question's number in the transport.
        ticket: Ticket,
        /// The answer.
        bytes: Vec<u8>,
    },
    /// Add penalty points to a peer. The transport bans the peer for a while when it has enough points.
    Penalise {
        /// The peer to penalise.
        peer: PeerId,
        /// The points. 100 points are a ban.
        points: u32,
        /// A code of [`crate::ERRORS`].
        reason: &'static str,
    },
    /// Close the connections with a peer, without a ban.
    Disconnect {
        /// The peer to disconnect.
        peer: PeerId,
        /// A code of [`crate::ERRORS`].
        reason: &'static str,
    },
    /// Answer a [`super::Event::Submit`] with the id of each transaction or the reason for its refusal.
    Submitted {
        /// The ticket of the event.
        ticket: Ticket,
        /// In the order of the transactions.
        outcomes: Vec<Result<TxId, Rejection>>,
    },
    /// Answer an operator's order.
    Done {
        /// The ticket of the order.
        ticket: Ticket,
        /// The result, or the reason for the refusal.
        outcome: Result<OrderDone, Rejection>,
    },
    /// Send a notice to clients that follow the chain.
    Notice(Box<Notice>),
}

/// A notice about a change of the chain.
#[derive(Clone, Debug)]
pub enum Notice {
    /// A block was appended to the main chain.
    Added {
        /// Its header.
        header: Header,
        /// Its hash.
        hash: Hash,
        /// Whether this node forged it.
        own: bool,
    },
    /// The last block was rolled back.
    Popped {
        /// Its header.
        header: Header,
        /// Its hash.
        hash: Hash,
    },
    /// A reorg to a better branch.
    Forked {
        /// Height of the last common block.
        common: Height,
        /// Number of blocks rolled back.
        depth: u32,
    },
    /// A transaction left the pool without being in a block.
    Removed {
        /// The transaction.
        id: TxId,
        /// The reason, a code of [`crate::ERRORS`].
        reason: &'static str,
    },
    /// A peer claims a better branch that forks off deeper than blocks can be rolled back, so that it cannot be judged. This node
    /// keeps its own branch. Sent once for each peer while it is connected.
    TooDeep {
        /// The peer that claims it.
        peer: PeerId,
        /// Height of the last known common block.
        common: Height,
        /// The claimed tip.
        other: Hash,
    },
    /// A better branch forks off beyond the rollback limit. This node keeps its own branch, and an operator must decide.
    DeepFork {
        /// Height of the last known common block.
        common: Height,
        /// The tip of the other branch.
        other: Hash,
    },
    /// A forger signed two blocks on one parent, and the evidence is kept.
    Equivocated(Box<Equivocation>),
}
