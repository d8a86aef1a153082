//! A store in memory for tests of parts that read and write rows.

use std::cell::Cell;
use std::collections::BTreeMap;

use primitives::storage::Reads;

use crate::port::{Row, StoreFailure, Table, Write};
use crate::writes::Batch;

/// The rows applied so far.
#[derive(Clone, Default)]
pub(crate) struct FakeStore {
    rows: BTreeMap<(Table, Vec<u8>), Vec<u8>>,
    gets: Cell<u64>,
}

impl FakeStore {
    /// Applies a batch as one commit.
    pub(crate) fn apply(&mut self, batch: Batch) {
        for Write { table, key, value } in batch.finish().writes {
            match value {
                Some(value) => drop(self.rows.insert((table, key), value)),
                None => drop(self.rows.remove(&(table, key))),
            }
        }
    }

    /// Writes one row of any table.
    pub(crate) fn put(&mut self, table: Table, key: &[u8], value: &[u8]) {
        self.rows.insert((table, key.to_vec()), value.to_vec());
    }

    /// Returns the number of rows in all tables.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns how many single rows were asked for.
    pub(crate) fn gets(&self) -> u64 {
        self.gets.get()
    }

    fn range(&self, table: Table, from: &[u8]) -> impl DoubleEndedIterator<Item = Row> {
        let rows = self.rows.range((table, from.to_vec())..);
        rows.filter(move |((of, _), _)| *of == table)
            .map(|((_, key), value)| (key.clone(), value.clone()))
    }
}

impl Reads<Table> for FakeStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.gets.set(self.gets.get() + 1);
        Ok(self.rows.get(&(table, key.to_vec())).cloned())
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreFailure> {
        let rows = self.range(table, from);
        let rows = rows.take_while(|(key, _)| to.is_none_or(|to| key.as_slice() < to));
        Ok(rows.take(limit).collect())
    }

    fn last(&self, table: Table) -> Result<Option<Row>, StoreFailure> {
        Ok(self.range(table, &[]).next_back())
    }
}
