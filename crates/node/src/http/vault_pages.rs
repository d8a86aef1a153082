//! Changes of the vault as events, in pages: read from the ledger once for all who follow, whatever they have read so far.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use api::events::CHANGE;
use axum::body::Bytes;
use bytes::BytesMut;

use super::events::event;
use super::refusal::Refusal;
use super::service::NodeService;

/// Ledger positions of a page. Followers who began at different positions stand at the same pages from their second piece
/// on.
const PAGE_POSITIONS: u64 = 64;
/// Bytes of events kept; pages that nobody has read for the longest time go first.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// Pages kept, whatever they weigh.
const PAGES_MAX: usize = 4_096;
/// Bytes handed to a reader at once, and one event.
const PIECE_BYTES: usize = 32 << 10;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct VaultPages {
    kept: Mutex<Kept>,
    /// Held by the one who reads on for all: the ledger is read by one at a time.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By number: page `n` tells of the positions after `n * PAGE_POSITIONS`.
    pages: BTreeMap<u64, Page>,
    bytes: usize,
    /// Counts readings, so that the page that was not read for the longest time is known.
    readings: u64,
}

#[derive(Debug, Default)]
struct Page {
    events: Vec<(u64, Bytes)>,
    bytes: usize,
    /// It tells everything up to this position.
    upto: u64,
    read_at: u64,
}

/// Some events, and the position up to which they tell everything.
pub(super) type Piece = (Bytes, u64);

impl VaultPages {
    /// The next events after a position that the view has passed; `reached` is where the view is.
    pub(super) async fn after(
        &self,
        service: &dyn NodeService,
        after: u64,
        reached: u64,
    ) -> Result<Piece, Refusal> {
        if let Some(piece) = self.kept().after(after) {
            return Ok(piece);
        }
        let _reading = self.reading.lock().await;
        let number = after / PAGE_POSITIONS;
        let begin = {
            let mut kept = self.kept();
            if let Some(piece) = kept.after(after) {
                return Ok(piece);
            }
            let page = kept.pages.get(&number);
            page.map_or(number * PAGE_POSITIONS, |page| page.upto)
        };
        let end = (number + 1).saturating_mul(PAGE_POSITIONS).min(reached);
        let limit = usize::try_from(end.saturating_sub(begin)).unwrap_or(usize::MAX);
        let read = service.vault_changes(begin, end, limit).await?;
        let events = read.changes.iter();
        let events = events.map(|change| (change.seq, event(CHANGE, Some(change.seq), change)));
        let mut kept = self.kept();
        // A reading that tells nothing would be asked for again without end.
        kept.add(number, events.collect(), read.upto.max(begin + 1));
        // What a large transaction has pushed out already is told by the next reading.
        Ok(kept.after(after).unwrap_or((Bytes::new(), after)))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn after(&mut self, after: u64) -> Option<Piece> {
        let page = self.pages.get_mut(&(after / PAGE_POSITIONS))?;
        if after >= page.upto {
            return None;
        }
        self.readings += 1;
        page.read_at = self.readings;
        let first = page.events.partition_point(|(seq, _)| *seq <= after);
        let mut bytes = BytesMut::new();
        for (seq, event) in &page.events[first..] {
            bytes.extend_from_slice(event);
            if bytes.len() >= PIECE_BYTES {
                return Some((bytes.freeze(), *seq));
            }
        }
        Some((bytes.freeze(), page.upto))
    }

    fn add(&mut self, number: u64, events: Vec<(u64, Bytes)>, upto: u64) {
        self.readings += 1;
        let bytes: usize = events.iter().map(|(_, event)| event.len()).sum();
        let page = self.pages.entry(number).or_default();
        page.events.extend(events);
        page.bytes += bytes;
        page.upto = upto;
        page.read_at = self.readings;
        self.bytes += bytes;
        // The page just read stays, however large it is: whoever asked for it has not had it yet.
        while self.bytes > KEPT_BYTES_MAX && self.pages.len() > 1 {
            let oldest = self.pages.iter().min_by_key(|(_, page)| page.read_at);
            let Some(oldest) = oldest.map(|(number, _)| *number) else {
                break;
            };
            if let Some(page) = self.pages.remove(&oldest) {
                self.bytes -= page.bytes;
            }
        }
        // Empty pages weigh nothing and would add up.
        while self.pages.len() > PAGES_MAX {
            if let Some((_, page)) = self.pages.pop_first() {
                self.bytes -= page.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seqs: impl IntoIterator<Item = u64>, size: usize) -> Vec<(u64, Bytes)> {
        let event = |seq: u64| (seq, Bytes::from(format!("{}{seq},", "x".repeat(size))));
        seqs.into_iter().map(event).collect()
    }

    #[test]
    fn a_page_grows_and_is_read_from_anywhere() {
        let mut kept = Kept::default();
        kept.add(1, of([65, 67], 0), 70);
        for (after, expected) in [
            (63, None),
            (64, Some(("65,67,", 70))),
            (65, Some(("67,", 70))),
            (69, Some(("", 70))),
            (70, None),
        ] {
            let expected = expected.map(|(text, upto)| (Bytes::from(text), upto));
            assert_eq!(kept.after(after), expected, "after {after}");
        }
        kept.add(1, of([71], 0), 128);
        assert_eq!(kept.after(67), Some((Bytes::from("71,"), 128)));
        assert_eq!(kept.after(128), None, "of the next page");
    }

    #[test]
    fn a_large_page_is_handed_out_in_pieces() {
        let mut kept = Kept::default();
        kept.add(0, of(1..=3, PIECE_BYTES / 2), 64);
        let (first, upto) = kept.after(0).expect("the first piece");
        assert_eq!((first.len() > PIECE_BYTES, upto), (true, 2));
        let (second, upto) = kept.after(upto).expect("the second");
        assert_eq!((second.len(), upto), (PIECE_BYTES / 2 + 2, 64));
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_was_read_last_stays() {
        let mut kept = Kept::default();
        let quarter = KEPT_BYTES_MAX / 4;
        for number in 0..4 {
            let begin = number * PAGE_POSITIONS;
            kept.add(number, of([begin + 1], quarter - 5), begin + PAGE_POSITIONS);
        }
        assert!(kept.after(0).is_some(), "the first was read last");
        kept.add(4, of([4 * PAGE_POSITIONS + 1], quarter), 320);
        assert_eq!(kept.pages.keys().copied().collect::<Vec<_>>(), [0, 2, 3, 4]);
        kept.add(9, of([9 * PAGE_POSITIONS + 1], 2 * KEPT_BYTES_MAX), 640);
        assert_eq!(kept.pages.keys().copied().collect::<Vec<_>>(), [9]);
        for number in 10..10 + 2 * PAGES_MAX as u64 {
            kept.add(number, Vec::new(), (number + 1) * PAGE_POSITIONS);
        }
        assert_eq!(kept.pages.len(), PAGES_MAX);
        let weight: usize = kept.pages.values().map(|page| page.bytes).sum();
        assert_eq!(kept.bytes, weight);
    }
}
