//! The storage port: the operations that a deciding core needs of a disk, independent of the database behind it.
//!
//! Everything is a table of byte keys and byte values; one [`WriteBatch`] is atomic and, once acknowledged, durable.
//! Each core has tables of its own, a [`TableSet`]; the port never interprets a key or a value.

use std::fmt::Debug;
use std::hash::Hash;

use thiserror::Error;

/// The tables of one kind of store.
pub trait TableSet: Copy + Eq + Ord + Hash + Debug + Send + Sync + 'static {
    /// Every table, in the order of its number, without gaps.
    const ALL: &'static [Self];

    /// The title of such a store's directory, so that one kind is never opened as another.
    const TITLE: &'static str;

    /// Returns the table's number: part of the stored format, never changed or used again.
    fn number(self) -> u8;

    /// Returns the table's name on disk.
    fn name(self) -> &'static str;

    /// How its rows live.
    fn habit(self) -> Habit;
}

/// The lifetime of a table's rows; a store chooses its layout by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Rows that are soon deleted: kept in memory, and written to a sorted file only when there is a backlog.
    Passing,
    /// Keys ascend, values are large, every look-up finds its row: compressed, without filters.
    Appended,
    /// Keys come in any order and are often looked up in vain: filtered.
    Keyed,
}

/// One row to put (`value` is `Some`) or to delete (`None`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write<T> {
    /// The table.
    pub table: T,
    /// The key, in the table's layout.
    pub key: Vec<u8>,
    /// The value, or `None` to delete the row.
    pub value: Option<Vec<u8>>,
}

/// Rows that become durable together or not at all. Later writes of the same key win.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteBatch<T> {
    /// The rows in order.
    pub writes: Vec<Write<T>>,
}

impl<T> Default for WriteBatch<T> {
    fn default() -> Self {
        Self { writes: Vec::new() }
    }
}

impl<T> WriteBatch<T> {
    /// Adds a row to put.
    pub fn put(&mut self, table: T, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.writes.push(Write {
            table,
            key: key.into(),
            value: Some(value.into()),
        });
    }

    /// Adds a row to delete.
    pub fn delete(&mut self, table: T, key: impl Into<Vec<u8>>) {
        self.writes.push(Write {
            table,
            key: key.into(),
            value: None,
        });
    }

    /// True when nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Keys and values together, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.writes
            .iter()
            .map(|write| write.key.len() + write.value.as_ref().map_or(0, Vec::len))
            .sum()
    }
}

/// The cause of a [`StoreFailure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The store could not read or write.
    Access,
    /// Stored rows were read and are invalid.
    Damage,
    /// A thread of the node panicked, so its state is unknown.
    Panic,
}

/// A failure of the store or of the thread that uses it. It is never an answer to a request.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{code}: {message}")]
pub struct StoreFailure {
    /// The cause.
    pub kind: FailureKind,
    /// A stable code, `store.*`.
    pub code: &'static str,
    /// Description of the failure, with the path.
    pub message: String,
    /// Advised action.
    pub hint: &'static str,
}

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Reads of durable rows (or at least of submitted ones, where a backend makes them visible earlier).
pub trait Reads<T> {
    /// Returns the value of a key.
    fn get(&self, table: T, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure>;

    /// Up to `limit` rows with `from <= key` (and `key < to` where given), in ascending key order.
    fn scan(
        &self,
        table: T,
        from: &[u8],
        to: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreFailure>;

    /// Returns the row with the greatest key.
    fn last(&self, table: T) -> Result<Option<Row>, StoreFailure>;
}
