//! A round: its output, its one commit, and the actions that a durable commit releases.

use std::collections::VecDeque;

use flow::{EngineAction, FlowId};
use ledger::{PartyId, TxId};
use vault::ViewChange;

use crate::event::Action;
use crate::intake::item_id::ItemId;
use crate::message::PeerMessage;
use crate::writes::Batch;

/// Something to be done within the round.
pub(crate) enum Work {
    /// An action of the flow engine.
    Engine(EngineAction),
    /// An item's signatures are good: look for its dependencies.
    Signed(ItemId),
    /// An item's dependencies are all recorded: its contracts are due.
    Ready(ItemId),
    /// An item's contracts have run.
    Judged(ItemId),
    /// A message of this node to itself.
    Loopback(PeerMessage),
}

/// The object that a signature check is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CheckOwner {
    /// An item of the intake.
    Item(ItemId),
    /// A flow's effect.
    Effect(FlowId, u32),
    /// A request to this notary, by its number there.
    Notary(u64),
    /// A transaction of a back chain: the number of its resolution, and its place in the part that is verified.
    Ancestor(u64, usize),
    /// No object waits for it. A good result is remembered.
    Nobody,
}

/// The verdict on a group of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CheckVerdict {
    pub(crate) owner: CheckOwner,
    /// The peer that caused the checks.
    pub(crate) payer: Option<PartyId>,
    /// Whether all signatures are valid.
    pub(crate) is_good: bool,
    /// The work of the checks that were made last for it.
    pub(crate) work: u64,
}

/// The output of a round so far.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) batch: Batch,
    pub(crate) then: Vec<Action>,
    /// The size of the messages to peers in `then`, in bytes.
    pub(crate) sent_bytes: usize,
    pub(crate) recorded: Vec<TxId>,
    pub(crate) changes: Vec<ViewChange>,
    /// Parts of back chains were verified in this round.
    pub(crate) chains_verified: bool,
    /// Back chains were served in this round.
    pub(crate) chains_served: bool,
}

impl Round {
    /// Returns the size of its rows and messages, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.batch.bytes() + self.sent_bytes
    }
}

/// The effects of a durable commit.
pub(crate) struct Submitted {
    pub(crate) recorded: Vec<TxId>,
    /// The position of the ledger's last transaction.
    pub(crate) last_seq: u64,
    pub(crate) changes: Vec<ViewChange>,
}

/// The commits handed out and not reported durable, in order. The shell bounds their size: it submits no further round while its queue is
/// full.
#[derive(Default)]
pub(crate) struct Commits {
    handed: u64,
    durable: u64,
    waiting: VecDeque<(u64, Submitted)>,
}

impl Commits {
    /// Returns the number that this round's commit will have, if there is one.
    pub(crate) fn next(&self) -> u64 {
        self.handed + 1
    }

    /// Returns the number of the last commit handed out.
    pub(crate) fn handed(&self) -> u64 {
        self.handed
    }

    /// Returns the number up to which every commit is durable.
    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    /// Returns whether all commits that were handed out are durable.
    pub(crate) fn are_durable(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Notes that every commit up to a number is durable.
    pub(crate) fn note_durable(&mut self, upto: u64) {
        assert!(
            upto <= self.handed,
            "commit {upto} was not handed out; the last one is {}",
            self.handed
        );
        self.durable = self.durable.max(upto);
    }

    /// Hands out the commit of a round, and returns its number.
    pub(crate) fn submit(&mut self, submitted: Submitted) -> u64 {
        self.handed += 1;
        self.waiting.push_back((self.handed, submitted));
        self.handed
    }

    /// Returns the next commit up to a number whose effects have not been carried out.
    pub(crate) fn pop(&mut self, upto: u64) -> Option<Submitted> {
        let (_, submitted) = self.waiting.pop_front_if(|(number, _)| *number <= upto)?;
        Some(submitted)
    }
}
