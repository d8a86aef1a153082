//! The question that a batch puts to the store, and the answer.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{StateRef, TxId};

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
}

/// The answer to an [`UniquenessCheck`]: the rows that exist. Transactions and states without a row are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UniquenessAnswer {
    /// Transactions that the notary has accepted.
    pub accepted: BTreeSet<TxId>,
    /// Consumed states with their consumers.
    pub consumers: BTreeMap<StateRef, TxId>,
}
