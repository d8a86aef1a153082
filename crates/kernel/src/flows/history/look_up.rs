//! The look-up of the oldest rows. The shell makes it on a thread of its own.

use flow::FlowId;
use primitives::{Decode, Timestamp};

use crate::flows::history::row::{HistoryKind, HistoryRow, number_of, row_key};
use crate::port::{Reads, StoreFailure, Table, damaged};

/// Maximum number of rows that one look-up reads, and that one round deletes.
pub const HISTORY_LOOKED_UP_MAX: u64 = 1_000;
/// Rows that are in memory at once during a look-up. A row may have tens of kilobytes.
const SCAN_ROWS: u64 = 64;

/// A question for the oldest rows of the history. One is out at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLookUp {
    /// The kind of the rows.
    pub(super) kind: HistoryKind,
    /// The number of the first row.
    pub(super) first: u64,
    /// The number of rows, all of which are durable.
    pub(super) count: u64,
}

/// A row that a look-up has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundEnd {
    /// The flow.
    pub(super) flow: FlowId,
    /// The time of its end.
    pub(super) ended_at: Timestamp,
}

/// Answers a question for the oldest rows: all of them, in order of their numbers.
///
/// # Errors
/// The store could not be read, or lacks one of the rows.
pub fn look_up_history(
    look_up: &HistoryLookUp,
    reads: &dyn Reads,
) -> Result<Vec<FoundEnd>, StoreFailure> {
    let mut found = Vec::new();
    let (mut from, to) = (look_up.first, look_up.first + look_up.count);
    while from < to {
        let until = to.min(from + SCAN_ROWS);
        for (_, row) in rows_between(look_up.kind, from, until, reads)? {
            found.push(FoundEnd {
                flow: row.flow,
                ended_at: row.ended_at,
            });
        }
        from = until;
    }
    if found.len() as u64 != look_up.count {
        return Err(damaged(format!(
            "the flow history lacks rows: {look_up:?} found {}",
            found.len()
        )));
    }
    Ok(found)
}

/// Returns the rows of a kind with numbers from `from`, and before `to`, in order, each with its number among those of its kind.
pub(super) fn rows_between(
    kind: HistoryKind,
    from: u64,
    to: u64,
    reads: &dyn Reads,
) -> Result<Vec<(u64, HistoryRow)>, StoreFailure> {
    // No range has so many rows that its length is clipped.
    let limit = usize::try_from(to - from).unwrap_or(usize::MAX);
    let end = row_key(kind, to);
    let rows = reads.scan(Table::FlowHistory, &row_key(kind, from), Some(&end), limit)?;
    let numbered = rows.iter().map(|(key, value)| {
        let number = number_of(key)
            .ok_or_else(|| damaged("the key of a row of the flow history has no number"))?;
        Ok((number, decoded(value)?))
    });
    numbered.collect()
}

/// Reads a row.
pub(super) fn decoded(value: &[u8]) -> Result<HistoryRow, StoreFailure> {
    HistoryRow::from_bytes(value).map_err(|error| {
        damaged(format!(
            "a row of the flow history does not decode: {error}"
        ))
    })
}
