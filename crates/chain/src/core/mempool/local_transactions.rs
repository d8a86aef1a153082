//! The rows of locally accepted transactions.

use std::collections::BTreeSet;

use crate::port::{Reads, Table};
use crate::state::Overlay;
use crate::transaction::Carried;
use crate::{BlockTimestamp, TxId};

/// The ids of the transactions in the table `Pool`, oldest first.
#[derive(Debug, Default)]
pub(in crate::core) struct LocalTransactions {
    ids: BTreeSet<TxId>,
}

impl LocalTransactions {
    /// Notes a transaction that was read from its row.
    pub(in crate::core) fn restore(&mut self, id: TxId) {
        self.ids.insert(id);
    }

    /// Writes the row of a transaction, unless it has one.
    pub(in crate::core) fn put<R: Reads<Table>>(
        &mut self,
        rows: &mut Overlay<R>,
        carried: &Carried,
    ) {
        if self.ids.insert(carried.id) {
            rows.put(Table::Pool, carried.id.0, carried.transaction.to_bytes());
        }
    }

    /// Deletes the row of a transaction, if it has one.
    pub(in crate::core) fn remove<R: Reads<Table>>(&mut self, rows: &mut Overlay<R>, id: &TxId) {
        if self.ids.remove(id) {
            rows.delete(Table::Pool, id.0);
        }
    }

    /// Returns the transactions that were made before this time.
    pub(in crate::core) fn older_than(&self, time: BlockTimestamp) -> impl Iterator<Item = TxId> {
        let is_old = move |id: &&TxId| id.time() < time;
        self.ids.iter().take_while(is_old).copied()
    }
}
