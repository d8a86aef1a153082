//! Transactions that wait for the check of their signatures.

use std::sync::Arc;

use crate::core::part::Part;
use crate::core::{PeerId, Ticket};
use crate::pool::ChildBlock;
use crate::state::Point;
use crate::transaction::Carried;
use crate::{Rejection, TxId};

/// Transactions that wait for the check of their signatures, and the clients and messages that wait for the outcome.
#[derive(Debug, Default)]
pub(in crate::core) struct Intake {
    pub(super) unchecked: Vec<Unchecked>,
    pub(super) submissions: Vec<Submission>,
    pub(super) messages: Vec<Message>,
    /// Whether the tip has moved since the cheap checks of `unchecked`. A block may have included them by now, or their anchors
    /// may have been rolled back.
    pub(super) tip_moved: bool,
}

impl Part for Intake {
    fn tip_moved(&mut self, _: &Point) {
        self.tip_moved = !self.unchecked.is_empty();
    }
}

impl Intake {
    pub(in crate::core) fn is_empty(&self) -> bool {
        self.submissions.is_empty() && self.messages.is_empty() && self.unchecked.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct Unchecked {
    pub(super) carried: Arc<Carried>,
    /// A child block with its id list.
    pub(super) block: Option<Arc<ChildBlock>>,
    pub(super) source: Source,
}

/// The origin of a transaction.
#[derive(Clone, Copy, Debug)]
pub(in crate::core) enum Source {
    /// A client: the submission and the index in it.
    Submission(usize, usize),
    /// Gossip: the index of the message in the round.
    Message(usize),
    /// The pool of this peer.
    Fetched(PeerId),
}

#[derive(Debug)]
pub(super) struct Submission {
    pub(super) ticket: Ticket,
    pub(super) outcomes: Vec<Option<Result<TxId, Rejection>>>,
}

#[derive(Debug)]
pub(super) struct Message {
    pub(super) ticket: Ticket,
    pub(super) peer: PeerId,
    /// Whether at least one of its transactions was accepted.
    pub(super) taken: bool,
    /// The code of a fault of the sender.
    pub(super) bad: Option<&'static str>,
    /// Number of transactions that were refused for other reasons than being known.
    pub(super) refused: u32,
}
