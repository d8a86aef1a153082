//! A simulated disk, with durable rows and rows that are written but not synced yet.

use std::collections::BTreeMap;

use kernel::port::{StoreFailure, Table, WriteBatch};
use primitives::storage::Reads;

const TABLES: usize = Table::ALL.len();

/// Rows by key.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

type Row = (Vec<u8>, Vec<u8>);

/// All tables.
#[derive(Clone, Default)]
pub struct Tables([Rows; TABLES]);

impl Tables {
    /// Returns the rows of a table.
    pub fn rows(&self, table: Table) -> &Rows {
        &self.0[table as usize]
    }

    fn apply(&mut self, batch: &WriteBatch) {
        for write in &batch.writes {
            let rows = &mut self.0[write.table as usize];
            match &write.value {
                Some(value) => drop(rows.insert(write.key.clone(), value.clone())),
                None => drop(rows.remove(&write.key)),
            }
        }
    }
}

/// A disk with durable and unsynced rows.
pub struct Disk {
    durable: Tables,
    /// All rows that reads show, if reads show unsynced rows.
    written: Option<Tables>,
}

impl Disk {
    /// Returns an empty disk. With `shows_unsynced`, reads show rows before they are synced.
    pub fn new(shows_unsynced: bool) -> Self {
        Self {
            durable: Tables::default(),
            written: shows_unsynced.then(Tables::default),
        }
    }

    /// Returns the rows that survive a crash.
    pub fn durable(&self) -> &Tables {
        &self.durable
    }

    /// Writes a batch without syncing it.
    pub fn write(&mut self, batch: &WriteBatch) {
        if let Some(written) = &mut self.written {
            written.apply(batch);
        }
    }

    /// Makes a batch durable.
    pub fn sync(&mut self, batch: &WriteBatch) {
        self.durable.apply(batch);
    }

    /// Discards all unsynced rows.
    pub fn crash(&mut self) {
        if let Some(written) = &mut self.written {
            *written = self.durable.clone();
        }
    }

    /// Replaces all rows by an older copy, as the rollback adversary does.
    pub fn restore(&mut self, copy: Tables) {
        self.durable = copy;
        self.crash();
    }

    /// Replaces a row by that of an older copy, which may have none.
    pub fn restore_row(&mut self, table: Table, key: &[u8], copy: &Tables) {
        let mut batch = WriteBatch::default();
        match copy.rows(table).get(key) {
            Some(value) => batch.put(table, key.to_vec(), value.clone()),
            None => batch.delete(table, key.to_vec()),
        }
        self.durable.apply(&batch);
        self.crash();
    }

    /// Empties a table, as a planted bug does.
    pub fn lose(&mut self, table: Table) {
        for tables in std::iter::once(&mut self.durable).chain(&mut self.written) {
            tables.0[table as usize].clear();
        }
    }

    fn shown(&self) -> &Tables {
        // Without writes in flight, the durable rows are all.
        self.written.as_ref().unwrap_or(&self.durable)
    }
}

impl Reads<Table> for Disk {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.shown().get(table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreFailure> {
        self.shown().scan(table, from, to, limit)
    }

    fn last(&self, table: Table) -> Result<Option<Row>, StoreFailure> {
        self.shown().last(table)
    }
}

impl Reads<Table> for Tables {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        Ok(self.rows(table).get(key).cloned())
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreFailure> {
        let rows = self.rows(table).range(from.to_vec()..);
        let found = rows.take_while(|(key, _)| to.is_none_or(|to| key.as_slice() < to));
        Ok(found
            .take(limit)
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect())
    }

    fn last(&self, table: Table) -> Result<Option<Row>, StoreFailure> {
        let last = self.rows(table).last_key_value();
        Ok(last.map(|(k, v)| (k.clone(), v.clone())))
    }
}
