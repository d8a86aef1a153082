//! The numbers of the rows that the history has, as a row of `meta`.

use primitives::{Decode, Timestamp};

use crate::flows::history::row::HistoryKind;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::META_FLOW_HISTORY;

/// The numbers of the rows of a kind, without a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberRange {
    /// The number of the oldest row.
    pub(crate) first: u64,
    /// The number of the next row.
    pub(crate) next: u64,
}

primitives::record!(NumberRange { first, next });

impl NumberRange {
    /// Returns the number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.next - self.first
    }
}

/// The rows that the history has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HistoryBounds {
    failed: NumberRange,
    succeeded: NumberRange,
    failed_responders: NumberRange,
    /// The latest end of any flow. An older row has no later end, even if the clock was set back.
    pub(crate) latest: Timestamp,
}

primitives::record!(HistoryBounds {
    failed,
    succeeded,
    failed_responders,
    latest
});

impl HistoryBounds {
    /// Reads the bounds. The store of an earlier release has none, and no rows.
    pub(crate) fn load(reads: &dyn Reads) -> Result<Self, StoreFailure> {
        let Some(row) = reads.get(Table::Meta, META_FLOW_HISTORY)? else {
            return Ok(Self::default());
        };
        let bounds = Self::from_bytes(&row)
            .map_err(|error| damaged(format!("the bounds of the flow history: {error}")))?;
        let kinds = HistoryKind::ALL.into_iter();
        let mut ranges = kinds.map(|kind| bounds.of(kind));
        match ranges.any(|range| range.first > range.next) {
            true => Err(damaged(
                "the flow history has a first row after its last one",
            )),
            false => Ok(bounds),
        }
    }

    /// Returns the rows of a kind.
    pub(crate) fn of(&self, kind: HistoryKind) -> NumberRange {
        match kind {
            HistoryKind::Failed => self.failed,
            HistoryKind::Succeeded => self.succeeded,
            HistoryKind::FailedResponder => self.failed_responders,
        }
    }

    fn of_mut(&mut self, kind: HistoryKind) -> &mut NumberRange {
        match kind {
            HistoryKind::Failed => &mut self.failed,
            HistoryKind::Succeeded => &mut self.succeeded,
            HistoryKind::FailedResponder => &mut self.failed_responders,
        }
    }

    /// Returns the number of ends that the history has noted so far.
    pub(super) fn ends(&self) -> u64 {
        let kinds = HistoryKind::ALL.into_iter();
        kinds.map(|kind| self.of(kind).next).sum()
    }

    /// Adds a row of a kind, for a flow that ended at this time. Returns its number.
    pub(super) fn add(&mut self, kind: HistoryKind, at: Timestamp) -> u64 {
        self.latest = self.latest.max(at);
        let range = self.of_mut(kind);
        let number = range.next;
        range.next += 1;
        number
    }

    /// Removes the oldest rows of a kind.
    pub(super) fn remove(&mut self, kind: HistoryKind, count: u64) {
        let range = self.of_mut(kind);
        range.first += count;
        assert!(
            range.first <= range.next,
            "more rows were deleted than the history has: {range:?}"
        );
    }
}
