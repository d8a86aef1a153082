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

    /// The title that is written to the directory of such a store, so that a store of one kind is never opened as another.
    const TITLE: &'static str;

    /// Returns the table's number: part of the stored format, never changed or used again.
    fn number(self) -> u8;

    /// Returns the table's name on disk.
    fn name(self) -> &'static str;

    /// Returns the lifetime and access pattern of its rows.
    fn habit(self) -> Habit;
}

/// The lifetime and access pattern of a table's rows. A store chooses the table's layout by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Rows are deleted soon. They are kept in memory, and written to a sorted file only if many accumulate.
    Passing,
    /// Keys are written in ascending order, values are large, and every look-up finds its row. The files are compressed and
    /// have no filters.
    Appended,
    /// Keys are written in any order, and look-ups often find no row. The files have filters that avoid most reads for such
    /// look-ups.
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

/// Rows that become durable together or not at all. If a key is written more than once, the last write wins.
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

    /// Returns true if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Returns the size of all keys and values together, in bytes.
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
    /// Another process of the node has taken over the data, or is about to. This one has nothing to do any more.
    Superseded,
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

/// Reads of rows. All durable rows are visible; a backend may show submitted rows earlier.
pub trait Reads<T> {
    /// Returns the value of a key.
    fn get(&self, table: T, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure>;

    /// Returns up to `limit` rows with `from <= key`, and `key < to` if `to` is given, in ascending order of the keys.
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
