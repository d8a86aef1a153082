//! The question that a batch puts to the record of consumed states, and the answer.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{StateRef, TxId};
use primitives::storage::StoreFailure;

use crate::RequestRecord;

/// A question to the store: which of these transactions are accepted, and which of these states are consumed?
///
/// The store may answer at any time. The answer must show every row that was durable when the question was made. It may show
/// later rows too. The engine itself knows the decisions that are not durable yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniquenessCheck {
    /// The number of the question. [`crate::Notary::decide`] takes the answer under the same number.
    pub number: u64,
    /// The transactions of the batch. One that is asked for twice is here twice.
    pub transactions: Vec<TxId>,
    /// The inputs and references of the batch. One that is named twice is here twice.
    pub states: Vec<StateRef>,
    /// What a shared record has to enter; empty if the caller writes the rows of the decision ([`crate::NotaryOptions::is_shared`]).
    pub entries: Vec<Entry>,
    /// Transactions that a shared record only looks up: whether they were accepted before. Empty where `entries` is.
    pub look_ups: Vec<TxId>,
}

/// A transaction that a shared record of consumed states enters, unless it was accepted before or one of its states is consumed.
///
/// The entries of a question do not contradict each other: no two have the same transaction, and none names a state that an earlier one
/// consumes. So the record checks all of them against the rows that were there before, and enters them at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The transaction.
    pub id: TxId,
    /// The states that it consumes.
    pub inputs: Vec<StateRef>,
    /// The states that it reads. None of them may be consumed.
    pub references: Vec<StateRef>,
    /// Who asked for it.
    pub record: RequestRecord,
}

impl Entry {
    /// Returns whether an answer lets this transaction be entered: it was not accepted before, and none of its states is consumed.
    pub fn is_free(&self, answer: &UniquenessAnswer) -> bool {
        let mut states = self.inputs.iter().chain(&self.references);
        !answer.accepted.contains(&self.id)
            && !states.any(|state| answer.consumers.contains_key(state))
    }
}

/// The result of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UniquenessOutcome {
    /// The rows that existed. A shared record has entered every entry that is [free](Entry::is_free) by them, durably.
    Found(UniquenessAnswer),
    /// A shared record could not be reached in time. It is unknown whether the entries were entered; the requesters ask again.
    Unavailable,
}

/// The answer to an [`UniquenessCheck`]: the rows that exist. Transactions and states without a row are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UniquenessAnswer {
    /// Transactions that the notary has accepted.
    pub accepted: BTreeSet<TxId>,
    /// Consumed states with their consumers.
    pub consumers: BTreeMap<StateRef, TxId>,
}

/// The record of consumed states that a notary asks: the node's own store, or a database that several notaries share.
///
/// The methods block. They are called by one thread, which is not the one that decides.
pub trait UniquenessRecord: Send {
    /// Answers a question. Enters the entries of the question that are [free](Entry::is_free) by the answer, durably and all at once.
    ///
    /// # Errors
    /// The rows of the node's own store can't be read. A shared record that can't be reached is [`UniquenessOutcome::Unavailable`].
    fn settle(&mut self, check: &UniquenessCheck) -> Result<UniquenessOutcome, StoreFailure>;
}
