//! One table: its rows in memory over its rows on disk, and the reads that see both as one.

use std::path::Path;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use lsm_tree::{Cache, DescriptorTable};
use primitives::storage::{Habit, Row};

use crate::memory::{KeyState, Memory, RowOrDeletion};
use crate::sorted::Sorted;

pub(crate) struct TableStore {
    pub(crate) name: String,
    pub(crate) memory: RwLock<Memory>,
    pub(crate) sorted: Sorted,
    pub(crate) resident: bool,
}

impl TableStore {
    pub(crate) fn open(
        folder: &Path,
        name: &str,
        habit: Habit,
        cache: &Arc<Cache>,
        files: &Arc<DescriptorTable>,
    ) -> lsm_tree::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            memory: RwLock::default(),
            sorted: Sorted::open(&folder.join(name), habit, cache, files)?,
            resident: habit == Habit::Passing,
        })
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Memory> {
        // A poisoned lock is harmless: every method of Memory leaves it consistent.
        self.memory
            .read()
            .unwrap_or_else(|panicked| panicked.into_inner())
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Memory> {
        self.memory
            .write()
            .unwrap_or_else(|panicked| panicked.into_inner())
    }

    /// Applies rows and deletions to memory.
    ///
    /// # Correctness
    /// Whether the sorted table is empty is checked under the memory's lock. The flush thread takes this lock after it has
    /// added rows to the sorted table, so the check cannot miss them while memory no longer holds them.
    pub(crate) fn apply(&self, rows: Vec<RowOrDeletion>) {
        let mut memory = self.write();
        let mut is_empty = None;
        for (key, value) in rows {
            let is_empty =
                value.is_none() && *is_empty.get_or_insert_with(|| self.sorted.is_empty());
            memory.write(key, value, is_empty);
        }
    }
}

impl TableStore {
    /// Looks a key up.
    pub(crate) fn get(&self, key: &[u8]) -> lsm_tree::Result<Option<Vec<u8>>> {
        let known = self.read().get(key);
        match known {
            KeyState::Row(row) => Ok(row),
            KeyState::Nothing => self.sorted.get(key),
        }
    }

    /// Returns up to `limit` rows in `[from, to)`, in ascending order of the keys.
    ///
    /// # Correctness
    /// Reads memory first. A row that is flushed meanwhile is then found twice, with the same content; no row is
    /// missed.
    pub(crate) fn scan(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> lsm_tree::Result<Vec<Row>> {
        if to.is_some_and(|to| to <= from) {
            return Ok(Vec::new());
        }
        let memory = self.read().range(from, to, limit);
        if self.sorted.is_empty() {
            return Ok(memory
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?)))
                .collect());
        }
        merge(memory, self.sorted.range(from, to), limit, |a, b| a <= b)
    }

    /// Returns the row with the greatest key.
    pub(crate) fn last(&self) -> lsm_tree::Result<Option<Row>> {
        let memory = self.read().last();
        Ok(merge(memory, self.sorted.descending(), 1, |a, b| a >= b)?.pop())
    }
}

/// Merges rows of memory with rows of the sorted table. If both have a key, the row of memory wins. `memory` contains at least
/// `limit` rows, or all that memory has.
fn merge(
    memory: Vec<RowOrDeletion>,
    sorted: impl Iterator<Item = lsm_tree::Result<Row>>,
    limit: usize,
    is_first: fn(&[u8], &[u8]) -> bool,
) -> lsm_tree::Result<Vec<Row>> {
    let mut found = Vec::new();
    let mut memory = memory.into_iter().peekable();
    let mut sorted = sorted.peekable();
    while found.len() < limit {
        let from_memory = match (memory.peek(), sorted.peek()) {
            (None, None) => break,
            (Some(_), None) => true,
            (None, Some(_)) | (Some(_), Some(Err(_))) => false,
            (Some((key, _)), Some(Ok((other, _)))) => {
                if key == other {
                    sorted.next();
                    true
                } else {
                    is_first(key, other)
                }
            }
        };
        if from_memory {
            if let Some((key, Some(value))) = memory.next() {
                found.push((key, value));
            }
        } else if let Some(row) = sorted.next() {
            found.push(row?);
        }
    }
    Ok(found)
}
