//! A simulated disk: rows that are durable, and rows that are written and not synced yet.

use std::collections::BTreeMap;

use kernel::port::{Reads, StoreFailure, Table, WriteBatch};

const TABLES: usize = Table::ALL.len();

/// Rows by key.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

type Row = (Vec<u8>, Vec<u8>);

/// Every table.
#[derive(Clone, Default)]
pub struct Tables([Rows; TABLES]);

impl Tables {
    /// The rows of a table.
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

/// See the module.
pub struct Disk {
    durable: Tables,
    /// What reads show, where that is more than what is durable.
    written: Option<Tables>,
}

impl Disk {
    /// An empty disk. `shows_unsynced`: reads show what is written before it is synced.
    pub fn new(shows_unsynced: bool) -> Self {
        Self {
            durable: Tables::default(),
            written: shows_unsynced.then(Tables::default),
        }
    }

    /// What survives a crash.
    pub fn durable(&self) -> &Tables {
        &self.durable
    }

    /// A batch is handed to the disk.
    pub fn write(&mut self, batch: &WriteBatch) {
        if let Some(written) = &mut self.written {
            written.apply(batch);
        }
    }

    /// A batch is on the disk for good.
    pub fn sync(&mut self, batch: &WriteBatch) {
        self.durable.apply(batch);
    }

    /// Whatever was not synced is gone.
    pub fn crash(&mut self) {
        if let Some(written) = &mut self.written {
            *written = self.durable.clone();
        }
    }

    /// The adversary's deed: an older copy takes the place of everything.
    pub fn restore(&mut self, copy: Tables) {
        self.durable = copy;
        self.crash();
    }

    /// The planted bug: a table is empty.
    pub fn lose(&mut self, table: Table) {
        for tables in std::iter::once(&mut self.durable).chain(&mut self.written) {
            tables.0[table as usize].clear();
        }
    }

    fn shown(&self) -> &Tables {
        self.written.as_ref().unwrap_or(&self.durable)
    }
}

impl Reads for Disk {
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

impl Reads for Tables {
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
