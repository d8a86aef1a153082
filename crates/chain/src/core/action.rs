//! What a node's core wants done. All actions of a round are done after its batch is durable, in order.

use primitives::Hash;

use super::{PeerId, Ticket};
use crate::{Header, Rejection, TxId};

/// What becomes of a gossiped message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on to other peers.
    Accept,
    /// It does not, and nobody is to blame.
    Ignore,
    /// It does not, and counts against who brought it.
    Reject,
}

/// One thing to do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Gossip to all peers.
    Gossip(Vec<u8>),
    /// What becomes of a gossiped message.
    Verdict {
        /// The message's number in the transport.
        message: Ticket,
        /// What becomes of it.
        verdict: Verdict,
    },
    /// Ask a peer; the answer is [`super::Event::Answered`] with the same ticket, always.
    Ask {
        /// Whom.
        peer: PeerId,
        /// The question's number, chosen by the core.
        ticket: Ticket,
        /// The question.
        bytes: Vec<u8>,
        /// Milliseconds to wait at most.
        patience_ms: u64,
    },
    /// Answer a peer's question.
    Answer {
        /// The question's number in the transport.
        ticket: Ticket,
        /// The answer.
        bytes: Vec<u8>,
    },
    /// Count against a peer; enough of it and the transport bans it for a while.
    Penalise {
        /// Whom.
        peer: PeerId,
        /// How much: 100 is a ban.
        points: u32,
        /// A code of [`crate::ERRORS`].
        reason: &'static str,
    },
    /// End the connections with a peer, without a ban.
    Disconnect {
        /// Whom.
        peer: PeerId,
        /// A code of [`crate::ERRORS`].
        reason: &'static str,
    },
    /// The answer to a [`super::Event::Submit`]: for each transaction its id, or why it was refused.
    Submitted {
        /// Whose.
        ticket: Ticket,
        /// In the order of the transactions.
        outcomes: Vec<Result<TxId, Rejection>>,
    },
    /// The answer to an operator's order.
    Done {
        /// Whose.
        ticket: Ticket,
        /// What was done, in words, or why not.
        outcome: Result<String, Rejection>,
    },
    /// Something that clients may follow.
    Notice(Box<Notice>),
}

/// Something that happened on the chain.
#[derive(Clone, Debug)]
pub enum Notice {
    /// A block joined the main chain at its end.
    Added {
        /// Its header.
        header: Header,
        /// Its hash.
        hash: Hash,
        /// It was forged here.
        own: bool,
    },
    /// The last block was taken back.
    Popped {
        /// Its header.
        header: Header,
        /// Its hash.
        hash: Hash,
    },
    /// A branch has won: so many blocks were taken back.
    Forked {
        /// The last block that both have.
        common: u32,
        /// Blocks taken back.
        depth: u32,
    },
    /// A transaction left the pool without being in a block.
    Left {
        /// Which.
        id: TxId,
        /// Why: a code of [`crate::ERRORS`].
        reason: &'static str,
    },
    /// A peer claims a better branch that forks off deeper than blocks can be taken back, so that it cannot be judged: this node goes on
    /// with its own. Told once for each peer while it is connected.
    TooDeep {
        /// Who claims it.
        peer: PeerId,
        /// The height of the last block that both have, as far as is known.
        common: u32,
        /// The tip that it claims.
        other: Hash,
    },
    /// A better branch forks off beyond the rollback limit: this node goes on with its own, and an operator has to decide.
    Stuck {
        /// The height of the last block that both have, as far as is known.
        common: u32,
        /// The tip of the other branch.
        other: Hash,
    },
}
