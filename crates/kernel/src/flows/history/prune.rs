//! The deletion of the history's oldest rows: too many of a kind, or too old.

use std::collections::BTreeSet;

use primitives::{Moment, Monotonic, Timestamp};

use crate::flows::history::bounds::HistoryBounds;
use crate::flows::history::look_up::{FoundEnd, HISTORY_LOOKED_UP_MAX, HistoryLookUp};
use crate::flows::history::row::HistoryKind;
use crate::options::HistoryOptions;

/// Minimum interval between two checks for rows that are too old, in milliseconds. A check begins no round of its own: a node has a round
/// at least each second, and rows may stay a little longer.
pub const HISTORY_AGE_CHECK_MS: u64 = 60_000;

/// Which rows are deleted, and when.
#[derive(Debug)]
pub(super) struct Pruning {
    options: HistoryOptions,
    asked: Option<HistoryLookUp>,
    /// The kinds whose oldest rows may be too old.
    to_check: BTreeSet<HistoryKind>,
    /// The earliest end among the oldest rows of a kind, as the latest look-up left them; `None` before it.
    oldest: [Option<Timestamp>; HistoryKind::ALL.len()],
    check_at: Monotonic,
}

impl Pruning {
    pub(super) fn new(options: HistoryOptions, now: Monotonic) -> Self {
        Self {
            options,
            asked: None,
            to_check: BTreeSet::new(),
            oldest: [None; HistoryKind::ALL.len()],
            check_at: now,
        }
    }

    /// Returns whether no row is kept at all.
    pub(super) fn keeps_none(&self) -> bool {
        self.options.flows_max == 0 || self.options.age_ms_max == 0
    }

    /// Returns the maximum number of rows of a kind.
    fn rows_max(&self) -> u64 {
        match self.keeps_none() {
            true => 0,
            false => self.options.flows_max,
        }
    }

    fn is_too_old(&self, ended_at: Timestamp, now: Timestamp) -> bool {
        // An end in the future has no age.
        let age_ms = now.since_ms(ended_at).unwrap_or(0);
        age_ms > self.options.age_ms_max
    }

    /// Notes the kinds whose oldest rows may be too old, once in each interval. A wall clock that is not trusted proves no age.
    fn check_ages(&mut self, bounds: &HistoryBounds, trusts_wall: bool, now: Moment) {
        if now.monotonic < self.check_at {
            return;
        }
        let next = now.monotonic.plus_ms(HISTORY_AGE_CHECK_MS);
        // At the end of time there is no further check.
        self.check_at = next.unwrap_or(now.monotonic);
        if !trusts_wall {
            return;
        }
        for kind in HistoryKind::ALL {
            let oldest = self.oldest[kind as usize];
            let may_be = oldest.is_none_or(|end| self.is_too_old(end, now.wall));
            if may_be && bounds.of(kind).len() > 0 {
                self.to_check.insert(kind);
            }
        }
    }

    /// Returns the kind whose oldest rows are looked up next.
    fn next_kind(&mut self, bounds: &HistoryBounds) -> Option<HistoryKind> {
        let mut kinds = HistoryKind::ALL.into_iter();
        let is_over = |kind: &HistoryKind| bounds.of(*kind).len() > self.rows_max();
        kinds.find(is_over).or_else(|| self.to_check.pop_first())
    }

    /// Returns the look-up to be made now: there are too many rows of a kind, or some may be too old.
    pub(super) fn next_look_up(
        &mut self,
        bounds: &HistoryBounds,
        trusts_wall: bool,
        now: Moment,
    ) -> Option<HistoryLookUp> {
        self.check_ages(bounds, trusts_wall, now);
        if self.asked.is_some() {
            return None;
        }
        let kind = self.next_kind(bounds)?;
        let range = bounds.of(kind);
        // A check for age looks at as many rows as one look-up may read. If there are too many rows, only those are looked up.
        let count = match range.len().saturating_sub(self.rows_max()) {
            0 => range.len(),
            over => over,
        };
        self.asked = Some(HistoryLookUp {
            kind,
            first: range.first,
            count: count.min(HISTORY_LOOKED_UP_MAX),
        });
        self.asked
    }

    /// Takes the answer to a look-up. Returns the look-up, and how many of the rows that it has found are over a limit.
    pub(super) fn found(
        &mut self,
        found: &[FoundEnd],
        bounds: &HistoryBounds,
        trusts_wall: bool,
        now: Timestamp,
    ) -> Option<(HistoryLookUp, usize)> {
        let look_up = self.asked.take()?;
        let HistoryLookUp { kind, first, count } = look_up;
        let range = bounds.of(kind);
        assert!(
            range.first == first && found.len() as u64 == count,
            "{} rows from {first} were found, and {count} were asked for; the history has {range:?}",
            found.len()
        );
        // Clipped at 0: there is room for all.
        let over = range.len().saturating_sub(self.rows_max());
        let aged = match trusts_wall {
            true => self.too_old(found, now),
            false => 0,
        };
        let deleted = usize::try_from(over.min(count)).unwrap_or(found.len());
        let deleted = deleted.max(aged);
        // After a look-up without rows that stay, the age of the oldest row is unknown.
        self.oldest[kind as usize] = found[deleted..].iter().map(|row| row.ended_at).min();
        if aged > 0 && aged == found.len() && range.len() > count {
            // The next rows may be too old as well. Rows that were too many say nothing of the age of the next ones.
            self.to_check.insert(kind);
        }
        Some((look_up, deleted))
    }

    /// Returns how many of the oldest rows are too old: all before the last one that is. An end in the future, by a clock that was
    /// wrong, does not protect the rows after it.
    fn too_old(&self, found: &[FoundEnd], now: Timestamp) -> usize {
        let mut count = 0;
        for (at, row) in found.iter().enumerate() {
            if self.is_too_old(row.ended_at, now) {
                count = at + 1;
            } else if row.ended_at <= now {
                break;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use flow::FlowId;

    use super::*;

    #[test]
    fn the_oldest_rows_go_up_to_the_last_one_that_is_too_old() {
        let options = HistoryOptions {
            flows_max: 10,
            age_ms_max: 100,
        };
        let pruning = Pruning::new(options, Monotonic::START);
        // It is 1000. Each line: the ends in order, and how many of them are too old.
        let table: [(&[u64], usize); 8] = [
            (&[], 0),
            (&[899, 900, 901], 1),
            (&[500, 600, 1_000], 2),
            (&[1_000, 500], 0),
            // Ends by a clock that was ahead.
            (&[5_000, 600, 950], 2),
            (&[600, 5_000, 950], 1),
            (&[5_000, 950], 0),
            (&[5_000], 0),
        ];
        for (ends, expected) in table {
            let found: Vec<FoundEnd> = ends
                .iter()
                .map(|end| FoundEnd {
                    flow: FlowId([0; 16]),
                    ended_at: Timestamp::from_ms(*end),
                })
                .collect();
            let count = pruning.too_old(&found, Timestamp::from_ms(1_000));
            assert_eq!(count, expected, "{ends:?}");
        }
    }
}
