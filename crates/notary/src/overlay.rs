//! Decisions that the store may not show yet.

use std::collections::{HashMap, VecDeque};

use ledger::{StateRef, TxId};

/// The rows of one batch.
struct InFlight {
    commit: u64,
    transactions: Vec<TxId>,
    states: Vec<StateRef>,
    weight: usize,
}

/// Rows of batches that the answer of the store may lack. They count like rows of the store.
#[derive(Default)]
pub(crate) struct Overlay {
    consumed: HashMap<StateRef, TxId>,
    transactions: HashMap<TxId, ()>,
    batches: VecDeque<InFlight>,
    weight: usize,
}

impl Overlay {
    pub(crate) fn consumer(&self, state: &StateRef) -> Option<TxId> {
        self.consumed.get(state).copied()
    }

    pub(crate) fn has(&self, transaction: &TxId) -> bool {
        self.transactions.contains_key(transaction)
    }

    /// Returns the weight of the decided requests that are remembered, in states.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    pub(crate) fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Starts a commit; the rows that follow belong to it.
    pub(crate) fn begin(&mut self, commit: u64) {
        if let Some(last) = self.batches.back() {
            assert!(
                last.commit <= commit,
                "commit {commit} follows commit {}",
                last.commit
            );
        }
        self.batches.push_back(InFlight {
            commit,
            transactions: Vec::new(),
            states: Vec::new(),
            weight: 0,
        });
    }

    /// Adds an accepted transaction.
    pub(crate) fn accept(&mut self, id: TxId, inputs: &[StateRef], weight: usize) {
        self.transactions.insert(id, ());
        for input in inputs {
            self.consumed.insert(*input, id);
        }
        self.weight += weight;
        if let Some(batch) = self.batches.back_mut() {
            batch.transactions.push(id);
            batch.states.extend_from_slice(inputs);
            batch.weight += weight;
        }
    }

    /// Forgets the commits up to this number: every further answer of the store shows their rows. Returns their weight, in states.
    pub(crate) fn forget(&mut self, upto: u64) -> usize {
        let mut freed = 0usize;
        while self
            .batches
            .front()
            .is_some_and(|batch| batch.commit <= upto)
        {
            let Some(batch) = self.batches.pop_front() else {
                break;
            };
            for id in &batch.transactions {
                self.transactions.remove(id);
            }
            for state in &batch.states {
                self.consumed.remove(state);
            }
            freed += batch.weight;
        }
        assert!(
            freed <= self.weight,
            "{freed} states are forgotten, but only {} were remembered",
            self.weight
        );
        self.weight -= freed;
        freed
    }
}
