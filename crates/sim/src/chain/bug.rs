//! Bugs that can be planted in every node. The audit must find them.

use chain::port::{Table, WriteBatch};
use primitives::storage::Write;

/// A defect in the rows that a node writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainBug {
    /// A rollback of blocks does not restore one balance.
    UndoForgetsABalance,
    /// A transaction that leaves the pool without a block leaves no reason.
    LeavesWithoutReason,
    /// One transaction of a block has no index row, so it might be accepted again.
    IndexForgetsAnId,
}

impl ChainBug {
    /// All planted bugs.
    pub const ALL: [Self; 3] = [
        Self::UndoForgetsABalance,
        Self::LeavesWithoutReason,
        Self::IndexForgetsAnId,
    ];

    /// Returns the batch as a node with this bug writes it.
    pub(super) fn spoil(self, mut batch: WriteBatch) -> WriteBatch {
        match self {
            Self::UndoForgetsABalance => {
                let undone =
                    |write: &Write<Table>| write.table == Table::Undo && write.value.is_none();
                if batch.writes.iter().any(undone) {
                    forget(&mut batch, Table::Balances, false);
                }
            }
            Self::LeavesWithoutReason => forget(&mut batch, Table::Left, true),
            Self::IndexForgetsAnId => forget(&mut batch, Table::TxIndex, false),
        }
        batch
    }
}

/// Drops the first row that is put into a table, or all of them.
fn forget(batch: &mut WriteBatch, table: Table, all: bool) {
    let mut forgotten = false;
    batch.writes.retain(|write| {
        let it = write.table == table && write.value.is_some() && (all || !forgotten);
        forgotten |= it;
        !it
    });
}
