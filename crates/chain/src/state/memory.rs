//! A store in memory, for tests and the simulator.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::port::{Reads, Row, StoreFailure, Table, WriteBatch};

/// A handle to a store in memory, whose clones share the same rows. Batches may wait for acknowledgement and be lost.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    rows: BTreeMap<(Table, Vec<u8>), Vec<u8>>,
    waiting: VecDeque<WriteBatch>,
}

impl Inner {
    fn apply(&mut self, batch: WriteBatch) {
        for write in batch.writes {
            match write.value {
                Some(value) => self.rows.insert((write.table, write.key), value),
                None => self.rows.remove(&(write.table, write.key)),
            };
        }
    }
}

impl MemoryStore {
    /// Returns an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // No code panics between two changes that belong together.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a batch. It is neither durable nor visible to reads until it is acknowledged.
    pub fn submit(&self, batch: WriteBatch) {
        self.inner().waiting.push_back(batch);
    }

    /// Makes the oldest waiting batch durable. Returns false if none waits.
    pub fn acknowledge(&self) -> bool {
        let mut inner = self.inner();
        match inner.waiting.pop_front() {
            Some(batch) => inner.apply(batch),
            None => return false,
        }
        true
    }

    /// Discards all waiting batches, as a power cut does.
    pub fn lose(&self) {
        self.inner().waiting.clear();
    }

    /// Adds a batch and makes it and all waiting ones durable.
    pub fn commit(&self, batch: WriteBatch) {
        self.submit(batch);
        while self.acknowledge() {}
    }

    /// Returns all rows of a table.
    #[must_use]
    pub fn rows(&self, table: Table) -> Vec<Row> {
        self.inner()
            .rows
            .range((table, Vec::new())..)
            .take_while(|((of, _), _)| *of == table)
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect()
    }
}

impl Reads<Table> for MemoryStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        Ok(self.inner().rows.get(&(table, key.to_vec())).cloned())
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreFailure> {
        if to.is_some_and(|to| to <= from) {
            return Ok(Vec::new());
        }
        let inner = self.inner();
        let rows = inner
            .rows
            .range((Bound::Included((table, from.to_vec())), Bound::Unbounded));
        Ok(rows
            .take_while(|((of, key), _)| *of == table && to.is_none_or(|to| key.as_slice() < to))
            .take(limit)
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect())
    }

    fn last(&self, table: Table) -> Result<Option<Row>, StoreFailure> {
        Ok(self.rows(table).pop())
    }
}
