//! A disk of rows.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kernel::port::{StoreFailure, Table, WriteBatch};
use ledger::SignedTransaction;
use primitives::storage::Reads;

type Rows = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

/// The disk of a node. Every write is durable at once.
#[derive(Clone, Default)]
pub struct Disk {
    rows: RefCell<Rows>,
}

impl Disk {
    /// Makes a batch durable.
    pub fn write(&self, batch: WriteBatch) {
        let mut rows = self.rows.borrow_mut();
        for write in batch.writes {
            match write.value {
                Some(value) => drop(rows.insert((write.table, write.key), value)),
                None => drop(rows.remove(&(write.table, write.key))),
            }
        }
    }

    /// Returns the rows of a table.
    pub fn rows(&self, table: Table) -> Vec<(Vec<u8>, Vec<u8>)> {
        let rows = self.rows.borrow();
        let rows = rows.iter().filter(|((t, _), _)| *t == table);
        rows.map(|((_, key), value)| (key.clone(), value.clone()))
            .collect()
    }

    /// Damages the disk: a table loses its rows.
    pub fn clear(&self, table: Table) {
        self.rows.borrow_mut().retain(|(t, _), _| *t != table);
    }

    /// Damages the disk by removing a row.
    pub fn remove(&self, table: Table, key: &[u8]) {
        self.rows.borrow_mut().remove(&(table, key.to_vec()));
    }

    /// Returns the number of rows in a table.
    pub fn count(&self, table: Table) -> usize {
        self.rows
            .borrow()
            .keys()
            .filter(|(t, _)| *t == table)
            .count()
    }

    /// Returns the total size of a table's values in bytes.
    pub fn bytes(&self, table: Table) -> usize {
        let rows = self.rows.borrow();
        let of_table = rows.iter().filter(|((t, _), _)| *t == table);
        of_table.map(|(_, value)| value.len()).sum()
    }

    /// Returns the ledger in its order.
    pub fn ledger(&self) -> Vec<(u64, SignedTransaction)> {
        let mut rows = Vec::new();
        loop {
            let after = rows.last().map_or(0, |(seq, _)| *seq);
            let page = kernel::ledger_page(self, after, usize::MAX).expect("the disk reads");
            rows.extend(page.rows);
            if !page.more {
                break;
            }
        }
        let decoded = rows.iter().map(|(seq, row)| {
            let (_, transaction) = kernel::decode_row(row).expect("a recorded transaction");
            (*seq, transaction)
        });
        decoded.collect()
    }
}

impl Reads<Table> for Disk {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        Ok(self.rows.borrow().get(&(table, key.to_vec())).cloned())
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StoreFailure> {
        let rows = self.rows.borrow();
        let found = rows
            .range((table, from.to_vec())..)
            .take_while(|((t, key), _)| *t == table && to.is_none_or(|to| key.as_slice() < to));
        Ok(found
            .take(limit)
            .map(|((_, k), v)| (k.clone(), v.clone()))
            .collect())
    }

    fn last(&self, table: Table) -> Result<Option<(Vec<u8>, Vec<u8>)>, StoreFailure> {
        let rows = self.rows.borrow();
        let mut found = rows
            .range((table, Vec::new())..)
            .take_while(|((t, _), _)| *t == table);
        Ok(found
            .by_ref()
            .last()
            .map(|((_, k), v)| (k.clone(), v.clone())))
    }
}
