//! Reads of recorded transactions for flows that are restored from their journals.

use std::cell::RefCell;

use flow::Rehydrate;
use ledger::{SignedTransaction, StateAndRef, StateRef, TxId};

use crate::ledger_book::load;
use crate::port::{Reads, StoreFailure};

/// The committed rows of the store, as a flow's replay reads them.
///
/// A replay takes "not recorded" for an answer and parks the flow. A read that fails is no such answer: it is kept, and
/// [`Stored::checked`] returns it.
pub(crate) struct Stored<'a> {
    reads: &'a dyn Reads,
    failure: RefCell<Option<StoreFailure>>,
}

impl<'a> Stored<'a> {
    pub(crate) fn new(reads: &'a dyn Reads) -> Self {
        Self {
            reads,
            failure: RefCell::new(None),
        }
    }

    /// Ends the reads of a replay.
    ///
    /// # Errors
    /// The first read that failed. The replay saw its row as missing, so its result must not be used.
    pub(crate) fn checked(self) -> Result<(), StoreFailure> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }
}

impl Rehydrate for Stored<'_> {
    fn states(&self, refs: &[StateRef]) -> Option<Vec<StateAndRef>> {
        let mut states = Vec::with_capacity(refs.len());
        for reference in refs {
            let transaction = self.transaction(&reference.tx)?;
            let state = transaction.wire().output(reference.index as usize)?.clone();
            states.push(StateAndRef {
                state,
                reference: *reference,
            });
        }
        Some(states)
    }

    fn transaction(&self, id: &TxId) -> Option<SignedTransaction> {
        match load(id, self.reads) {
            Ok(found) => found.map(|(recorded, _)| (*recorded.transaction).clone()),
            Err(failure) => {
                self.failure.borrow_mut().get_or_insert(failure);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::DAMAGED;
    use crate::fake_store::FakeStore;
    use crate::port::Table;
    use crate::rows::seq_key;

    #[test]
    fn tells_a_failed_read_from_a_missing_row() {
        let id = TxId::from_array([7; 32]);
        let mut store = FakeStore::default();
        let reads = |store: &FakeStore| {
            let stored = Stored::new(store);
            let found = (
                stored.transaction(&id),
                stored.states(&[StateRef::new(id, 0)]),
            );
            assert_eq!(found, (None, None));
            stored.checked().map_err(|failure| failure.code)
        };
        assert_eq!(reads(&store), Ok(()), "no row");
        store.put(Table::TxIndex, id.as_bytes(), &seq_key(5));
        assert_eq!(
            reads(&store),
            Err(DAMAGED.code),
            "the ledger lacks the position"
        );
        store.put(Table::Ledger, &seq_key(5), &[1; 20]);
        assert_eq!(reads(&store), Err(DAMAGED.code), "the row does not decode");
        store.put(Table::TxIndex, id.as_bytes(), &[1]);
        assert_eq!(reads(&store), Err(DAMAGED.code), "the index row is short");
    }
}
