//! The batch of a round, and the rule that each row of the store has one writer.
//!
//! # Invariants
//! - A row gets into the batch through [`Batch::of`] only, so every write names the type that makes it.
//! - A type writes only the rows that it states in [`Writer::ROWS`]. This is asserted for every write.
//! - No two types state the same row. A test of [`crate::parts`] compares all statements.

use std::marker::PhantomData;
use std::ops::Deref;

use crate::port::{Table, WriteBatch};

/// Rows of one table: all of them, or those whose keys begin with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowRange {
    table: Table,
    prefix: &'static [u8],
}

impl RowRange {
    /// Returns all rows of a table.
    pub(crate) const fn table(table: Table) -> Self {
        Self { table, prefix: &[] }
    }

    /// Returns the rows of [`Table::Meta`] whose keys begin with a prefix.
    pub(crate) const fn meta(prefix: &'static [u8]) -> Self {
        let table = Table::Meta;
        Self { table, prefix }
    }

    /// Returns whether a row is in this range.
    pub(crate) fn contains(&self, table: Table, key: &[u8]) -> bool {
        self.table == table && key.starts_with(self.prefix)
    }

    /// Returns whether two ranges have a row in common.
    #[cfg(test)]
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.contains(other.table, other.prefix) || other.contains(self.table, self.prefix)
    }
}

/// A type in the list of [`crate::parts`]. The list implements this trait, so a writer that is missing there does not compile.
pub(crate) trait Listed {}

/// A type that writes rows.
pub(crate) trait Writer: Listed {
    /// The rows that this type writes, and no other one.
    const ROWS: &'static [RowRange];
}

/// The rows that a round writes. It can be read like a [`WriteBatch`], and written through [`Batch::of`] only.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    writes: WriteBatch,
    bytes: usize,
}

impl Batch {
    /// Returns the handle through which a type writes its rows.
    pub(crate) fn of<W: Writer>(&mut self) -> RowsOf<'_, W> {
        let writer = PhantomData;
        RowsOf {
            batch: self,
            writer,
        }
    }

    /// Returns the size of all keys and values together, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the rows as they go to the store.
    pub(crate) fn finish(self) -> WriteBatch {
        self.writes
    }
}

impl Deref for Batch {
    type Target = WriteBatch;

    fn deref(&self) -> &WriteBatch {
        &self.writes
    }
}

/// Write access to the rows of one type.
pub(crate) struct RowsOf<'a, W> {
    batch: &'a mut Batch,
    writer: PhantomData<W>,
}

impl<W: Writer> RowsOf<'_, W> {
    /// Adds a row to put.
    pub(crate) fn put(&mut self, table: Table, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        let key = key.into();
        check_owner::<W>(table, &key);
        let value = value.into();
        self.batch.bytes += key.len() + value.len();
        self.batch.writes.put(table, key, value);
    }

    /// Adds a row to delete.
    pub(crate) fn delete(&mut self, table: Table, key: impl Into<Vec<u8>>) {
        let key = key.into();
        check_owner::<W>(table, &key);
        self.batch.bytes += key.len();
        self.batch.writes.delete(table, key);
    }
}

/// Asserts that a type writes one of its own rows. The check takes a few comparisons, so it is always on.
fn check_owner<W: Writer>(table: Table, key: &[u8]) {
    assert!(
        W::ROWS.iter().any(|range| range.contains(table, key)),
        "{} writes a row of table {} that it does not own",
        std::any::type_name::<W>(),
        table.name()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Marks;

    impl Listed for Marks {}

    impl Writer for Marks {
        const ROWS: &'static [RowRange] =
            &[RowRange::table(Table::Notes), RowRange::meta(b"mark/")];
    }

    #[test]
    fn a_type_writes_its_own_rows() {
        let mut batch = Batch::default();
        let mut rows = batch.of::<Marks>();
        rows.put(Table::Notes, b"any".to_vec(), b"1".to_vec());
        rows.delete(Table::Meta, b"mark/7".to_vec());
        let bytes = batch.bytes();
        let writes = batch.finish();
        assert_eq!(writes.writes.len(), 2);
        assert_eq!(bytes, writes.size_bytes(), "counted while it is written");
    }

    #[test]
    #[should_panic(expected = "table meta that it does not own")]
    fn a_write_of_another_types_row_fails() {
        let mut batch = Batch::default();
        batch.of::<Marks>().delete(Table::Meta, b"life/7".to_vec());
    }

    #[test]
    fn ranges_overlap_if_one_prefix_begins_with_the_other() {
        let table: &[(RowRange, RowRange, bool)] = &[
            (RowRange::meta(b"a/"), RowRange::meta(b"a/b"), true),
            (RowRange::meta(b"a/b"), RowRange::meta(b"a/"), true),
            (RowRange::meta(b"a/"), RowRange::meta(b"b/"), false),
            (RowRange::table(Table::Meta), RowRange::meta(b"a/"), true),
            (
                RowRange::table(Table::Notes),
                RowRange::table(Table::Claims),
                false,
            ),
        ];
        for (one, other, expected) in table {
            assert_eq!(one.overlaps(other), *expected, "{one:?} and {other:?}");
        }
    }
}
