//! A table's rows in memory: those written since the last flush, and those being flushed.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// A row or, with `None`, its deletion.
pub(crate) type RowOrDeletion = (Vec<u8>, Option<Vec<u8>>);

/// Rows by key; `None` hides a row that is in an older place.
pub(crate) type Rows = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Estimated memory of a row in addition to the bytes of its key and value: two vectors, their allocations, and its share of
/// the tree's nodes.
const ROW_OVERHEAD_BYTES: usize = 112;

/// A table's rows in memory.
#[derive(Default)]
pub(crate) struct Memory {
    active: Rows,
    frozen: Option<Arc<Rows>>,
    active_bytes: usize,
    tombstones: usize,
}

/// The state of a key in memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeyState {
    /// The row's value, or `None` if it is deleted.
    Row(Option<Vec<u8>>),
    /// The key is not in memory. The sorted table may hold it.
    Nothing,
}

impl Memory {
    /// Puts or deletes a row. A deletion is only remembered if the frozen rows or the sorted table may hold the row.
    pub(crate) fn write(&mut self, key: Vec<u8>, value: Option<Vec<u8>>, table_is_empty: bool) {
        let new_bytes = row_bytes(&key, &value);
        let (old, key_bytes) = match value {
            None if self.may_forget(&key, table_is_empty) => (self.active.remove(&key), key.len()),
            value => {
                self.active_bytes += new_bytes;
                self.tombstones += usize::from(value.is_none());
                let key_bytes = key.len();
                (self.active.insert(key, value), key_bytes)
            }
        };
        if let Some(old) = old {
            self.tombstones -= usize::from(old.is_none());
            let old_bytes = key_bytes + old.map_or(0, |value| value.len()) + ROW_OVERHEAD_BYTES;
            self.active_bytes -= old_bytes;
        }
    }

    fn may_forget(&self, key: &[u8], table_is_empty: bool) -> bool {
        table_is_empty
            && self
                .frozen
                .as_ref()
                .is_none_or(|frozen| !frozen.contains_key(key))
    }

    /// Looks a key up.
    pub(crate) fn get(&self, key: &[u8]) -> KeyState {
        let frozen = || self.frozen.as_ref().and_then(|frozen| frozen.get(key));
        match self.active.get(key).or_else(frozen) {
            Some(row) => KeyState::Row(row.clone()),
            None => KeyState::Nothing,
        }
    }

    /// Returns rows and deletions in `[from, to)` in ascending order, until `limit` rows that are not deletions are found.
    pub(crate) fn range(&self, from: &[u8], to: Option<&[u8]>, limit: usize) -> Vec<RowOrDeletion> {
        let bounds = (
            Bound::Included(from),
            to.map_or(Bound::Unbounded, Bound::Excluded),
        );
        let active = self.active.range::<[u8], _>(bounds);
        match &self.frozen {
            None => gather(active, limit),
            Some(frozen) => gather(
                Merged::new(active, frozen.range::<[u8], _>(bounds), |a, b| a <= b),
                limit,
            ),
        }
    }

    /// Returns rows and deletions in descending order, until one row that is not a deletion is found.
    pub(crate) fn last(&self) -> Vec<RowOrDeletion> {
        match &self.frozen {
            None => gather(self.active.iter().rev(), 1),
            Some(frozen) => gather(
                Merged::new(self.active.iter().rev(), frozen.iter().rev(), |a, b| a >= b),
                1,
            ),
        }
    }

    /// Returns the rows written since the last freeze.
    pub(crate) fn active(&self) -> &Rows {
        &self.active
    }

    /// Returns the estimated bytes of the active rows.
    pub(crate) fn active_bytes(&self) -> usize {
        self.active_bytes
    }

    /// Returns the number of deletions among the active rows.
    pub(crate) fn tombstones(&self) -> usize {
        self.tombstones
    }

    /// Removes deletions that no longer hide a row.
    pub(crate) fn forget_tombstones(&mut self) {
        if self.tombstones > 0 && self.frozen.is_none() {
            self.active.retain(|_, row| row.is_some());
            self.active_bytes = self
                .active
                .iter()
                .map(|(key, value)| row_bytes(key, value))
                .sum();
            self.tombstones = 0;
        }
    }

    /// Freezes the active rows, to be flushed. No other rows may be frozen.
    pub(crate) fn freeze(&mut self) {
        let active = std::mem::take(&mut self.active);
        (self.active_bytes, self.tombstones) = (0, 0);
        if !active.is_empty() {
            self.frozen = Some(Arc::new(active));
        }
    }

    /// Returns the rows being flushed.
    pub(crate) fn frozen(&self) -> Option<Arc<Rows>> {
        self.frozen.clone()
    }

    /// Removes and returns the rows that were being flushed, which are in a table now.
    pub(crate) fn thaw(&mut self) -> Option<Arc<Rows>> {
        self.frozen.take()
    }
}

fn row_bytes(key: &[u8], value: &Option<Vec<u8>>) -> usize {
    key.len() + value.as_ref().map_or(0, Vec::len) + ROW_OVERHEAD_BYTES
}

type RowRef<'a> = (&'a Vec<u8>, &'a Option<Vec<u8>>);

fn gather<'a>(rows: impl Iterator<Item = RowRef<'a>>, limit: usize) -> Vec<RowOrDeletion> {
    let mut found = Vec::new();
    let mut live = 0;
    for (key, value) in rows {
        if live == limit {
            break;
        }
        live += usize::from(value.is_some());
        found.push((key.clone(), value.clone()));
    }
    found
}

/// Two sorted sources as one; on equal keys the first source wins.
struct Merged<'a, A: Iterator<Item = RowRef<'a>>, B: Iterator<Item = RowRef<'a>>> {
    first: std::iter::Peekable<A>,
    second: std::iter::Peekable<B>,
    first_is_next: fn(&[u8], &[u8]) -> bool,
}

impl<'a, A: Iterator<Item = RowRef<'a>>, B: Iterator<Item = RowRef<'a>>> Merged<'a, A, B> {
    fn new(first: A, second: B, first_is_next: fn(&[u8], &[u8]) -> bool) -> Self {
        Self {
            first: first.peekable(),
            second: second.peekable(),
            first_is_next,
        }
    }
}

impl<'a, A: Iterator<Item = RowRef<'a>>, B: Iterator<Item = RowRef<'a>>> Iterator
    for Merged<'a, A, B>
{
    type Item = RowRef<'a>;

    fn next(&mut self) -> Option<RowRef<'a>> {
        match (self.first.peek(), self.second.peek()) {
            (Some((a, _)), Some((b, _))) if a == b => {
                self.second.next();
                self.first.next()
            }
            (Some((a, _)), Some((b, _))) if !(self.first_is_next)(a, b) => self.second.next(),
            (Some(_), _) => self.first.next(),
            (None, _) => self.second.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> Vec<u8> {
        vec![n]
    }

    fn put(memory: &mut Memory, n: u8) {
        memory.write(key(n), Some(vec![n, n]), true);
    }

    #[test]
    fn a_row_deleted_before_it_is_flushed_leaves_nothing() {
        let mut memory = Memory::default();
        put(&mut memory, 1);
        memory.write(key(1), None, true);
        assert_eq!(
            (
                memory.active.len(),
                memory.active_bytes(),
                memory.tombstones()
            ),
            (0, 0, 0)
        );
    }

    #[test]
    fn a_deletion_stays_while_an_older_place_may_hold_the_row() {
        let mut memory = Memory::default();
        put(&mut memory, 1);
        memory.write(key(1), None, false);
        assert_eq!(memory.get(&key(1)), KeyState::Row(None));
        assert_eq!(memory.tombstones(), 1);
        put(&mut memory, 2);
        memory.freeze();
        memory.write(key(2), None, true);
        assert_eq!(memory.get(&key(2)), KeyState::Row(None), "frozen holds it");
        memory.write(key(3), None, true);
        assert_eq!(memory.get(&key(3)), KeyState::Nothing);
        memory.thaw();
        memory.forget_tombstones();
        assert_eq!((memory.active.len(), memory.active_bytes()), (0, 0));
    }

    #[test]
    fn ranges_merge_active_over_frozen() {
        let mut memory = Memory::default();
        [1, 3, 5, 7].into_iter().for_each(|n| put(&mut memory, n));
        memory.freeze();
        [2, 5, 9].into_iter().for_each(|n| put(&mut memory, n));
        memory.write(key(3), None, true);
        let keys = |from: u8, to: Option<u8>, limit| -> Vec<(u8, bool)> {
            let to = to.map(key);
            let rows = memory.range(&key(from), to.as_deref(), limit);
            rows.iter()
                .map(|(key, value)| (key[0], value.is_some()))
                .collect()
        };
        let all = [
            (1, true),
            (2, true),
            (3, false),
            (5, true),
            (7, true),
            (9, true),
        ];
        assert_eq!(keys(0, None, 10), all);
        assert_eq!(keys(2, Some(7), 10), all[1..4]);
        assert_eq!(keys(2, None, 2), all[1..4], "deletions do not count");
        assert_eq!(keys(0, None, 0), []);
        assert_eq!(memory.last(), [(key(9), Some(vec![9, 9]))]);
    }
}
