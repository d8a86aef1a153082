//! Reads of the history for users. No round makes them.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use flow::FlowId;
use ledger::PartyId;
use primitives::{Timestamp, hex};

use crate::flows::history::bounds::HistoryBounds;
use crate::flows::history::look_up::{decoded, rows_between};
use crate::flows::history::row::{HistoryEnd, HistoryKind, HistoryRow, flow_key};
use crate::port::{Reads, StoreFailure, Table, damaged};

/// Maximum number of rows that are read for one page, whether they match or not.
pub const HISTORY_SCANNED_MAX: usize = 10_000;
/// Size at which no further row is read for a page, in bytes.
const PAGE_BYTES: usize = 4 << 20;
/// Rows that one read takes from the store.
const READ_ROWS: u64 = 64;

/// The status of an ended flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryStatus {
    /// It succeeded.
    Succeeded,
    /// It failed, and was not killed.
    Failed,
    /// A client or an operator ended it.
    Killed,
}

/// A filter of ended flows. A flow must match every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// The status.
    pub status: Option<HistoryStatus>,
    /// Only flows that failed or were killed.
    pub has_failed: bool,
    /// The registered name.
    pub name: Option<String>,
    /// The code of the failure.
    pub code: Option<String>,
    /// The user who started it.
    pub user: Option<String>,
    /// A counterparty: the one that started it, or the other side of a session.
    pub peer: Option<PartyId>,
    /// The earliest end.
    pub since: Option<Timestamp>,
    /// The time before which it ended.
    pub until: Option<Timestamp>,
}

/// A place between two rows: for each kind, the number of the row after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPlace([u64; HistoryKind::ALL.len()]);

/// A page of ended flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// The flows, the last one that ended first.
    pub rows: Vec<HistoryRow>,
    /// The place after the last row that was read, if there may be more. The page may be empty nevertheless.
    pub next: Option<HistoryPlace>,
}

impl fmt::Display for HistoryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|number| write!(f, "{number:016x}"))
    }
}

/// The text is not the place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a place in the flow history is 48 hexadecimal digits, as 'next' of a page gives it")]
pub struct ParseHistoryPlaceError;

impl FromStr for HistoryPlace {
    type Err = ParseHistoryPlaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = hex::decode(text).ok_or(ParseHistoryPlaceError)?;
        let (numbers, rest) = bytes.as_chunks::<8>();
        let numbers: Vec<u64> = numbers.iter().map(|n| u64::from_be_bytes(*n)).collect();
        match (numbers.try_into(), rest.is_empty()) {
            (Ok(numbers), true) => Ok(Self(numbers)),
            _ => Err(ParseHistoryPlaceError),
        }
    }
}

impl HistoryFilter {
    /// Returns the kinds that may have matching rows.
    fn kinds(&self) -> &'static [HistoryKind] {
        match (self.status, self.has_failed) {
            (None, false) => &HistoryKind::ALL,
            (Some(HistoryStatus::Succeeded), false) => &[HistoryKind::Succeeded],
            (Some(HistoryStatus::Succeeded), true) => &[],
            _ => &[HistoryKind::Failed, HistoryKind::FailedResponder],
        }
    }

    fn meets(&self, row: &HistoryRow) -> bool {
        let start = row.start.as_ref();
        let failure = match &row.end {
            HistoryEnd::Failure(rejection) => Some(rejection),
            HistoryEnd::Output(_) | HistoryEnd::LargeOutput(_) => None,
        };
        self.status.is_none_or(|status| status == row.status())
            && self
                .name
                .as_ref()
                .is_none_or(|name| start.is_some_and(|start| start.name == *name))
            && self
                .code
                .as_ref()
                .is_none_or(|code| failure.is_some_and(|failure| failure.code == *code))
            && self
                .user
                .as_ref()
                .is_none_or(|user| start.is_some_and(|start| start.user.as_ref() == Some(user)))
            && self.peer.is_none_or(|peer| {
                row.peers.contains(&peer) || start.is_some_and(|start| start.origin == Some(peer))
            })
            && self.since.is_none_or(|since| row.ended_at >= since)
            && self.until.is_none_or(|until| row.ended_at < until)
    }
}

impl HistoryRow {
    /// Returns the status.
    pub fn status(&self) -> HistoryStatus {
        match &self.end {
            HistoryEnd::Failure(_) if self.end.is_killed() => HistoryStatus::Killed,
            HistoryEnd::Failure(_) => HistoryStatus::Failed,
            HistoryEnd::Output(_) | HistoryEnd::LargeOutput(_) => HistoryStatus::Succeeded,
        }
    }
}

/// The rows of one kind, read backwards.
struct Backwards {
    kind: HistoryKind,
    first: u64,
    /// The number of the row after those that were not read yet.
    unread: u64,
    /// The number of the row after those that were not returned yet.
    before: u64,
    rows: VecDeque<(u64, HistoryRow)>,
}

impl Backwards {
    /// Returns the newest row that was not returned yet.
    fn newest(&mut self, reads: &dyn Reads) -> Result<Option<&HistoryRow>, StoreFailure> {
        while self.rows.is_empty() && self.unread > self.first {
            // Clipped at the first number.
            let from = self.first.max(self.unread.saturating_sub(READ_ROWS));
            // Rows may have been deleted since the bounds were read.
            let rows = rows_between(self.kind, from, self.unread, reads)?;
            self.rows.extend(rows.into_iter().rev());
            self.unread = from;
        }
        Ok(self.rows.front().map(|(_, row)| row))
    }
}

/// Returns the flows that match a filter and that the user may see, the last one that ended first. It reads a bounded number of rows.
///
/// # Errors
/// The store could not be read.
pub fn history_page(
    filter: &HistoryFilter,
    sees: &dyn Fn(&FlowId) -> bool,
    after: Option<HistoryPlace>,
    limit: usize,
    reads: &dyn Reads,
) -> Result<HistoryPage, StoreFailure> {
    let bounds = HistoryBounds::load(reads)?;
    let mut place = HistoryKind::ALL.map(|kind| {
        let range = bounds.of(kind);
        // A place of another node's history is moved to the nearest one of this history.
        after.map_or(range.next, |HistoryPlace(before)| {
            before[kind as usize].clamp(range.first, range.next)
        })
    });
    let mut kinds: Vec<Backwards> = filter
        .kinds()
        .iter()
        .map(|kind| Backwards {
            kind: *kind,
            first: bounds.of(*kind).first,
            unread: place[*kind as usize],
            before: place[*kind as usize],
            rows: VecDeque::new(),
        })
        .collect();
    let (mut rows, mut scanned, mut bytes) = (Vec::new(), 0, 0);
    let next = loop {
        let mut newest: Option<(u64, usize)> = None;
        for (at, kind) in kinds.iter_mut().enumerate() {
            if let Some(row) = kind.newest(reads)? {
                newest = newest.max(Some((row.number, at)));
            }
        }
        let Some((_, at)) = newest else {
            break None;
        };
        if rows.len() >= limit || scanned >= HISTORY_SCANNED_MAX || bytes >= PAGE_BYTES {
            for kind in &kinds {
                place[kind.kind as usize] = kind.before;
            }
            break Some(HistoryPlace(place));
        }
        let kind = &mut kinds[at];
        let Some((number, row)) = kind.rows.pop_front() else {
            break None;
        };
        // A round may have written bounds whose rows are not visible yet, so rows are not counted.
        assert!(number < kind.before, "a page of the history goes forwards");
        kind.before = number;
        if filter.since.is_some_and(|since| row.latest < since) {
            // No older flow has a later end.
            break None;
        }
        scanned += 1;
        bytes += size_of_row(&row);
        if filter.meets(&row) && sees(&row.flow) {
            rows.push(row);
        }
    };
    Ok(HistoryPage { rows, next })
}

/// Returns the approximate size of a row in the store.
fn size_of_row(row: &HistoryRow) -> usize {
    let end = match &row.end {
        HistoryEnd::Output(bytes) => bytes.len(),
        HistoryEnd::LargeOutput(_) => 0,
        HistoryEnd::Failure(rejection) => rejection.message.len() + rejection.hint.len(),
    };
    128 + end + 32 * (row.transactions.len() + row.peers.len())
}

/// Returns the row of a flow that has ended, if the history has one.
///
/// # Errors
/// The store could not be read.
pub fn ended_flow(flow: &FlowId, reads: &dyn Reads) -> Result<Option<HistoryRow>, StoreFailure> {
    let Some(key) = reads.get(Table::FlowHistory, &flow_key(flow))? else {
        return Ok(None);
    };
    // The row may have been deleted between the two reads.
    let Some(value) = reads.get(Table::FlowHistory, &key)? else {
        return Ok(None);
    };
    let row = decoded(&value)?;
    match row.flow == *flow {
        true => Ok(Some(row)),
        false => Err(damaged(format!(
            "the flow history finds {} for flow {flow}",
            row.flow
        ))),
    }
}

#[cfg(test)]
mod tests {
    use ledger::Rejection;
    use primitives::Encode;

    use super::*;
    use crate::fake_store::FakeStore;
    use crate::flows::history::row::{HistoryStart, row_key};
    use crate::rows::META_FLOW_HISTORY;

    /// Builds a history from letters, the oldest end first: `f` failed, `k` killed, `s` succeeded, `r` a failed responder.
    fn store(ends: &str) -> FakeStore {
        let (mut store, mut bounds) = (FakeStore::default(), HistoryBounds::default());
        for (number, letter) in ends.chars().enumerate() {
            let number = number as u64;
            let failed = |code: &str| HistoryEnd::Failure(Rejection::new(code.to_owned(), "", ""));
            let (kind, end) = match letter {
                'f' => (HistoryKind::Failed, failed("a.b")),
                'k' => (HistoryKind::Failed, failed("flow.killed")),
                's' => (HistoryKind::Succeeded, HistoryEnd::Output(Vec::new())),
                _ => (HistoryKind::FailedResponder, failed("a.b")),
            };
            let ended_at = Timestamp::from_ms(1_000 * number);
            let key = row_key(kind, bounds.add(kind, ended_at));
            let row = HistoryRow {
                flow: flow(number),
                start: Some(HistoryStart {
                    name: format!("flow.{letter}"),
                    version: Some(1),
                    at: Some(ended_at),
                    user: (letter != 'r').then(|| "ann".to_owned()),
                    client_id: None,
                    origin: (letter == 'r').then(|| PartyId::from_array([9; 32])),
                }),
                peers: Vec::new(),
                ended_at,
                latest: bounds.latest,
                number,
                end,
                transactions: Vec::new(),
            };
            store.put(Table::FlowHistory, &key, &row.to_bytes());
            store.put(Table::FlowHistory, &flow_key(&row.flow), &key);
        }
        store.put(Table::Meta, META_FLOW_HISTORY, &bounds.to_bytes());
        store
    }

    fn flow(number: u64) -> FlowId {
        let mut id = [0; 16];
        id[8..].copy_from_slice(&number.to_be_bytes());
        FlowId(id)
    }

    /// Returns the numbers of all matching flows, in pages of this many.
    fn numbers(store: &FakeStore, filter: &HistoryFilter, limit: usize) -> Vec<u64> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = history_page(filter, &|_| true, after, limit, store).expect("reads");
            assert!(page.rows.len() <= limit);
            found.extend(page.rows.iter().map(|row| row.number));
            let Some(next) = page.next else {
                return found;
            };
            let read: HistoryPlace = next.to_string().parse().expect("a place");
            assert_eq!(read, next);
            assert_ne!(after, Some(next), "a page makes progress");
            after = Some(next);
        }
    }

    #[test]
    fn pages_have_the_matching_flows_newest_first() {
        let store = store("fsrksf");
        let all = HistoryFilter::default;
        let status = |status| HistoryFilter {
            status: Some(status),
            ..all()
        };
        let failed = || HistoryFilter {
            has_failed: true,
            ..all()
        };
        let ms = |ms| Some(Timestamp::from_ms(ms));
        let table: Vec<(&str, HistoryFilter, &[u64])> = vec![
            ("all", all(), &[5, 4, 3, 2, 1, 0]),
            ("failed or killed", failed(), &[5, 3, 2, 0]),
            ("succeeded", status(HistoryStatus::Succeeded), &[4, 1]),
            ("failed", status(HistoryStatus::Failed), &[5, 2, 0]),
            ("killed", status(HistoryStatus::Killed), &[3]),
            (
                "none",
                HistoryFilter {
                    has_failed: true,
                    ..status(HistoryStatus::Succeeded)
                },
                &[],
            ),
            (
                "name",
                HistoryFilter {
                    name: Some("flow.s".to_owned()),
                    ..all()
                },
                &[4, 1],
            ),
            (
                "code",
                HistoryFilter {
                    code: Some("a.b".to_owned()),
                    ..all()
                },
                &[5, 2, 0],
            ),
            (
                "user",
                HistoryFilter {
                    user: Some("ann".to_owned()),
                    ..failed()
                },
                &[5, 3, 0],
            ),
            (
                "peer",
                HistoryFilter {
                    peer: Some(PartyId::from_array([9; 32])),
                    ..all()
                },
                &[2],
            ),
            (
                "since",
                HistoryFilter {
                    since: ms(4_000),
                    ..all()
                },
                &[5, 4],
            ),
            (
                "until",
                HistoryFilter {
                    since: ms(1_000),
                    until: ms(3_000),
                    ..all()
                },
                &[2, 1],
            ),
        ];
        for (what, filter, expected) in table {
            for limit in [1, 2, 4, 100] {
                assert_eq!(numbers(&store, &filter, limit), expected, "{what}, {limit}");
            }
        }
    }

    #[test]
    fn flows_of_others_take_no_room_on_a_page() {
        let store = store(&"s".repeat(500));
        let sees = |flow: &FlowId| flow.0[15] == 7;
        let page = history_page(&HistoryFilter::default(), &sees, None, 2, &store);
        let page = page.expect("reads");
        let numbers: Vec<u64> = page.rows.iter().map(|row| row.number).collect();
        assert_eq!(numbers, [263, 7]);
        let rest = history_page(&HistoryFilter::default(), &sees, page.next, 2, &store);
        let rest = rest.expect("reads");
        assert!(rest.rows.is_empty() && rest.next.is_none());
    }

    #[test]
    fn a_page_reads_a_bounded_number_of_rows() {
        let store = store(&format!("f{}", "s".repeat(HISTORY_SCANNED_MAX + 5)));
        let failed_named = HistoryFilter {
            name: Some("flow.f".to_owned()),
            ..HistoryFilter::default()
        };
        let page = history_page(&failed_named, &|_| true, None, 10, &store).expect("reads");
        assert!(page.rows.is_empty() && page.next.is_some());
        assert_eq!(numbers(&store, &failed_named, 10), [0]);
        // Failures are found without the successes between them.
        let failed = HistoryFilter {
            has_failed: true,
            ..HistoryFilter::default()
        };
        let page = history_page(&failed, &|_| true, None, 10, &store).expect("reads");
        assert_eq!((page.rows.len(), page.next), (1, None));
    }

    #[test]
    fn an_invalid_place_is_refused() {
        let good = "00".repeat(24);
        for (text, is_good) in [
            (good.as_str(), true),
            ("", false),
            (&good[2..], false),
            ("x", false),
        ] {
            assert_eq!(text.parse::<HistoryPlace>().is_ok(), is_good, "{text}");
        }
    }

    #[test]
    fn a_store_of_an_earlier_release_has_no_history() {
        let store = FakeStore::default();
        assert!(numbers(&store, &HistoryFilter::default(), 10).is_empty());
        assert_eq!(ended_flow(&flow(1), &store), Ok(None));
    }
}
