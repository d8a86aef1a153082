//! The open questions to peers.

use std::collections::BTreeMap;
use std::time::Duration;

use primitives::Hash;

use crate::core::limits::{GRACE, QUESTIONS_MAX};
use crate::core::part::Part;
use crate::core::{PeerId, Ticket};
use crate::{ChainTime, TxId};

/// The purpose of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::core) enum Purpose {
    /// The peer's status.
    Status,
    /// Headers of a branch, for the attempt with this number.
    Headers(u64),
    /// Bodies for the download with this number: `count` blocks from index `first` on.
    Bodies {
        download: u64,
        first: usize,
        count: usize,
    },
    /// These parent transactions of an announced block.
    Parents(Hash, Vec<TxId>),
    /// These transactions carried by child blocks of an announced block.
    Children(Hash, Vec<TxId>),
    /// The whole body of an announced block.
    Body(Hash),
    /// Ids of the peer's pool.
    PoolIds,
    /// These transactions of the peer's pool.
    PoolTransactions(Vec<TxId>),
    /// These child blocks of the peer's pool, with their lists.
    PoolChildBlocks(Vec<TxId>),
}

/// A question without an answer yet.
#[derive(Clone, Debug)]
pub(in crate::core) struct InFlightRequest {
    pub(super) peer: PeerId,
    pub(super) purpose: Purpose,
    /// The time at which it is given up, even if the transport reports nothing.
    deadline: ChainTime,
}

/// All open questions, by ticket.
#[derive(Debug, Default)]
pub(in crate::core) struct InFlightRequests {
    all: BTreeMap<Ticket, InFlightRequest>,
    last: Ticket,
}

impl InFlightRequests {
    /// Returns whether one more question may be asked.
    pub(in crate::core) fn has_room(&self) -> bool {
        self.all.len() < QUESTIONS_MAX
    }

    /// Adds a question and returns its ticket.
    pub(in crate::core) fn add(
        &mut self,
        peer: PeerId,
        purpose: Purpose,
        now: ChainTime,
        patience: Duration,
    ) -> Ticket {
        self.last += 1;
        let deadline = now.plus_or_last(patience).plus_or_last(GRACE);
        let former = self.all.insert(
            self.last,
            InFlightRequest {
                peer,
                purpose,
                deadline,
            },
        );
        assert!(former.is_none(), "a ticket is used once");
        self.last
    }

    /// Removes the question that an answer belongs to, if this peer was asked it.
    pub(in crate::core) fn take_answered(
        &mut self,
        ticket: Ticket,
        peer: PeerId,
    ) -> Option<InFlightRequest> {
        if self.all.get(&ticket)?.peer != peer {
            return None;
        }
        self.all.remove(&ticket)
    }

    /// Removes the questions to a peer that has disconnected.
    pub(in crate::core) fn take_of_peer(&mut self, peer: PeerId) -> Vec<InFlightRequest> {
        self.take(|question| question.peer == peer)
    }

    /// Removes the overdue questions.
    pub(in crate::core) fn take_overdue(&mut self, now: ChainTime) -> Vec<InFlightRequest> {
        if self.next_deadline().is_none_or(|next| next > now) {
            return Vec::new();
        }
        self.take(|question| question.deadline <= now)
    }

    fn take(&mut self, which: impl Fn(&InFlightRequest) -> bool) -> Vec<InFlightRequest> {
        let tickets: Vec<Ticket> = self
            .all
            .iter()
            .filter(|(_, question)| which(question))
            .map(|(ticket, _)| *ticket)
            .collect();
        tickets
            .iter()
            .filter_map(|ticket| self.all.remove(ticket))
            .collect()
    }

    /// Returns the earliest deadline.
    pub(in crate::core) fn next_deadline(&self) -> Option<ChainTime> {
        self.all.values().map(|question| question.deadline).min()
    }

    /// Returns the number of open questions of this kind.
    pub(in crate::core) fn count(&self, which: impl Fn(&Purpose) -> bool) -> usize {
        self.all
            .values()
            .filter(|question| which(&question.purpose))
            .count()
    }
}

impl Part for InFlightRequests {
    fn next_time(&self) -> Option<ChainTime> {
        self.next_deadline()
    }
}
