//! Questions under way.

use std::collections::BTreeMap;

use primitives::Hash;

use super::limits::{GRACE_MS, QUESTIONS_MAX};
use super::{PeerId, Ticket};

/// What a question is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Where does it stand?
    Status,
    /// Headers of the branch that is followed (its number).
    Headers(u64),
    /// Bodies of the download with this number: so many blocks from this one on.
    Bodies {
        download: u64,
        first: usize,
        count: usize,
    },
    /// Parent transactions of an announced block.
    Parents(Hash),
    /// Transactions of an announced block.
    Children(Hash),
    /// The whole body of an announced block.
    Body(Hash),
    /// Ids of its pool.
    PoolIds,
    /// Transactions of its pool.
    PoolTransactions,
}

/// A question that was asked and not yet answered.
#[derive(Clone, Debug)]
pub(super) struct UnderWay {
    pub(super) peer: PeerId,
    pub(super) purpose: Purpose,
    deadline_ms: u64,
}

/// All questions under way, by ticket.
#[derive(Debug, Default)]
pub(super) struct Questions {
    all: BTreeMap<Ticket, UnderWay>,
    last: Ticket,
}

impl Questions {
    /// Whether one more may be asked.
    pub(super) fn has_room(&self) -> bool {
        self.all.len() < QUESTIONS_MAX
    }

    /// Keeps a question and gives its ticket.
    pub(super) fn add(
        &mut self,
        peer: PeerId,
        purpose: Purpose,
        now_ms: u64,
        patience_ms: u64,
    ) -> Ticket {
        self.last += 1;
        let deadline_ms = now_ms.saturating_add(patience_ms).saturating_add(GRACE_MS);
        self.all.insert(
            self.last,
            UnderWay {
                peer,
                purpose,
                deadline_ms,
            },
        );
        self.last
    }

    /// The question that an answer is to, if the peer was asked it.
    pub(super) fn answered(&mut self, ticket: Ticket, peer: PeerId) -> Option<UnderWay> {
        if self.all.get(&ticket)?.peer != peer {
            return None;
        }
        self.all.remove(&ticket)
    }

    /// Takes out the questions to a peer that is gone.
    pub(super) fn of_peer(&mut self, peer: PeerId) -> Vec<UnderWay> {
        self.take(|question| question.peer == peer)
    }

    /// Takes out those that were waited for long enough.
    pub(super) fn late(&mut self, now_ms: u64) -> Vec<UnderWay> {
        if self.next_deadline_ms().is_none_or(|next| next > now_ms) {
            return Vec::new();
        }
        self.take(|question| question.deadline_ms <= now_ms)
    }

    fn take(&mut self, which: impl Fn(&UnderWay) -> bool) -> Vec<UnderWay> {
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

    /// When the first one will have been waited for long enough.
    pub(super) fn next_deadline_ms(&self) -> Option<u64> {
        self.all.values().map(|question| question.deadline_ms).min()
    }

    /// How many questions of this kind are under way.
    pub(super) fn count(&self, which: impl Fn(&Purpose) -> bool) -> usize {
        self.all
            .values()
            .filter(|question| which(&question.purpose))
            .count()
    }
}
