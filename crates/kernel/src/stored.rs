//! Reads of recorded transactions for flows that come back from their journals.

use flow::Rehydrate;
use ledger::{SignedTransaction, StateAndRef, StateRef, TxId};

use crate::ledger_book::decode_row;
use crate::port::{Reads, Table};

/// Reads of the store as it was left.
pub(crate) struct Stored<'a> {
    pub(crate) reads: &'a dyn Reads,
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
        let seq = self.reads.get(Table::TxIndex, id.as_bytes()).ok()??;
        let row = self.reads.get(Table::Ledger, &seq).ok()??;
        decode_row(&row).ok().map(|(_, transaction)| transaction)
    }
}
