//! Changes of the vault as events, in pages. Each page is read from the ledger once for all followers, at any position.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::events::CHANGE;
use axum::body::Bytes;
use bytes::BytesMut;

use super::events::event;
use super::refusal::Refusal;
use super::services::VaultService;
use super::vault_changes::SeenChange;
use crate::metrics::CacheMetrics;

/// Number of ledger positions of a page. Followers that began at different positions read the same pages from their second piece
/// on.
const PAGE_POSITIONS: u64 = 64;
/// Bytes of kept events. The pages that were not read for the longest time go first.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// Maximum number of kept pages, of any size.
const PAGES_MAX: usize = 4_096;
/// Bytes handed to a reader at once, and one event.
const PIECE_BYTES: usize = 32 << 10;

/// The pages of events.
#[derive(Debug, Default)]
pub(super) struct VaultPages {
    kept: Mutex<KeptPages>,
    /// The lock for reading the ledger: only one caller reads at a time, for all.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct KeptPages {
    /// Pages by number. Page `n` covers the positions after `n * PAGE_POSITIONS`.
    pages: BTreeMap<u64, Page>,
    bytes: usize,
    /// Counts readings, so that the page that was not read for the longest time is known.
    readings: u64,
}

#[derive(Debug, Default)]
struct Page {
    events: Vec<ToldChange>,
    bytes: usize,
    /// It tells everything up to this position.
    upto: u64,
    read_at: u64,
}

/// A change, as it is sent to a follower.
#[derive(Debug)]
struct ToldChange {
    seq: u64,
    /// The event for callers that may see all of it.
    event: Bytes,
    about: About,
}

/// The contracts of the states of a change.
#[derive(Debug)]
enum About {
    /// One, as in most.
    One(Arc<str>),
    /// Several contracts. The events of callers that may see only some of them are made from this.
    Several(Box<SeenChange>),
}

/// The contracts that a caller may see. `None` for all.
pub(super) type Sight<'a> = Option<&'a (dyn Fn(&str) -> bool + Send + Sync)>;

/// Some events.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    /// The events that the caller may see.
    pub(super) events: Bytes,
    /// The size of the rows that were read, in bytes.
    pub(super) looked_at: usize,
    /// Everything up to this position is told.
    pub(super) upto: u64,
}

impl ToldChange {
    fn of(seen: SeenChange, names: &mut BTreeSet<Arc<str>>) -> Self {
        let seq = seen.change.seq;
        let event = event(CHANGE, Some(seq), &seen.change);
        let produced = seen.change.produced.iter();
        let mut contracts = produced
            .map(|state| &state.contract)
            .chain(&seen.consumed_contracts);
        let first: Arc<str> = contracts
            .next()
            .map_or_else(|| "".into(), |name| name.as_str().into());
        let about = if contracts.all(|name| **name == *first) {
            let known = names.get(&first).cloned();
            About::One(known.unwrap_or_else(|| {
                names.insert(Arc::clone(&first));
                first
            }))
        } else {
            About::Several(Box::new(seen))
        };
        Self { seq, event, about }
    }

    fn weight(&self) -> usize {
        match &self.about {
            About::One(_) => self.event.len(),
            // The change itself is about as large as its event.
            About::Several(_) => 2 * self.event.len(),
        }
    }

    /// Returns the event as a caller may see it. `None` if all its states are hidden.
    fn seen(&self, sight: Sight<'_>) -> Option<Bytes> {
        let Some(sees) = sight else {
            return Some(self.event.clone());
        };
        let seen = match &self.about {
            About::One(contract) => return sees(contract).then(|| self.event.clone()),
            About::Several(seen) => seen,
        };
        let mut change = seen.change.clone();
        let mut contracts = seen.consumed_contracts.iter();
        change
            .consumed
            .retain(|_| contracts.next().is_some_and(|contract| sees(contract)));
        change.produced.retain(|state| sees(&state.contract));
        let hidden = change.consumed.is_empty() && change.produced.is_empty();
        (!hidden).then(|| event(CHANGE, Some(self.seq), &change))
    }
}

impl VaultPages {
    /// The next events after a position that the view has passed; `reached` is where the view is.
    pub(super) async fn after(
        &self,
        service: &dyn VaultService,
        metrics: &CacheMetrics,
        after: u64,
        reached: u64,
        sight: Sight<'_>,
    ) -> Result<Piece, Refusal> {
        if let Some(piece) = self.kept().after(after, sight) {
            metrics.asked(true);
            return Ok(piece);
        }
        let _reading = self.reading.lock().await;
        let number = after / PAGE_POSITIONS;
        let begin = {
            let mut kept = self.kept();
            if let Some(piece) = kept.after(after, sight) {
                metrics.asked(true);
                return Ok(piece);
            }
            metrics.asked(false);
            let page = kept.pages.get(&number);
            page.map_or(number * PAGE_POSITIONS, |page| page.upto)
        };
        // A clipped end is beyond the end of the ledger, which bounds it.
        let end = (number + 1).saturating_mul(PAGE_POSITIONS).min(reached);
        // Clipped at 0: the page may be beyond what the ledger has reached.
        let limit = end.saturating_sub(begin).min(PAGE_POSITIONS) as usize;
        let read = service.vault_changes(begin, end, limit).await?;
        let mut names = BTreeSet::new();
        let changes = read.changes.into_iter();
        let events = changes.map(|change| ToldChange::of(change, &mut names));
        let events = events.collect();
        let mut kept = self.kept();
        // A reading that tells nothing would be asked for again without end.
        kept.add(number, events, read.upto.max(begin + 1));
        metrics.set_bytes(kept.bytes as u64, KEPT_BYTES_MAX as u64);
        // A page that a large transaction has already displaced comes with the next reading.
        Ok(kept.after(after, sight).unwrap_or(Piece {
            upto: after,
            ..Piece::default()
        }))
    }

    fn kept(&self) -> MutexGuard<'_, KeptPages> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptPages {
    fn after(&mut self, after: u64, sight: Sight<'_>) -> Option<Piece> {
        let page = self.pages.get_mut(&(after / PAGE_POSITIONS))?;
        if after >= page.upto {
            return None;
        }
        self.readings += 1;
        page.read_at = self.readings;
        let first = page.events.partition_point(|told| told.seq <= after);
        let mut events = BytesMut::new();
        let mut looked_at = 0;
        let mut upto = page.upto;
        for told in &page.events[first..] {
            if let Some(event) = told.seen(sight) {
                events.extend_from_slice(&event);
            }
            looked_at += told.event.len();
            if looked_at >= PIECE_BYTES {
                upto = told.seq;
                break;
            }
        }
        Some(Piece {
            events: events.freeze(),
            looked_at,
            upto,
        })
    }

    fn add(&mut self, number: u64, events: Vec<ToldChange>, upto: u64) {
        self.readings += 1;
        let bytes: usize = events.iter().map(ToldChange::weight).sum();
        let page = self.pages.entry(number).or_default();
        page.events.extend(events);
        page.bytes += bytes;
        page.upto = upto;
        page.read_at = self.readings;
        self.bytes += bytes;
        // The page just read stays, at any size, because its reader has not had it yet.
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

    fn of(seqs: impl IntoIterator<Item = u64>, size: usize) -> Vec<ToldChange> {
        let event = |seq: u64| ToldChange {
            seq,
            event: Bytes::from(format!("{}{seq},", "x".repeat(size))),
            about: About::One("x".into()),
        };
        seqs.into_iter().map(event).collect()
    }

    fn change(seq: u64, produced: &[&str], consumed: &[&str]) -> ToldChange {
        let state = |(at, contract): (usize, &&str)| api::ProducedState {
            state_ref: format!("made{at}"),
            contract: (*contract).to_owned(),
            fungible: None,
            linear_id: None,
            columns: BTreeMap::new(),
            notary: "n".into(),
        };
        let seen = SeenChange {
            change: api::VaultChange {
                seq,
                transaction: "t".into(),
                recorded_at_ms: 1,
                consumed: (0..consumed.len()).map(|at| format!("spent{at}")).collect(),
                produced: produced.iter().enumerate().map(state).collect(),
            },
            consumed_contracts: consumed.iter().map(|name| (*name).to_owned()).collect(),
        };
        ToldChange::of(seen, &mut BTreeSet::new())
    }

    #[test]
    fn whoever_may_see_some_contracts_is_told_of_their_states_alone() {
        let mut kept = KeptPages::default();
        let all = vec![
            change(1, &["x.a"], &["x.a"]),
            change(2, &["y"], &[]),
            change(3, &["y", "x.a", "x.b"], &["x.b", "y"]),
            change(4, &[], &["y", "z"]),
            change(5, &[], &["x.b"]),
        ];
        let whole: usize = all.iter().map(|told| told.event.len()).sum();
        kept.add(0, all, 64);
        let told = |text: &Bytes| {
            let text = String::from_utf8(text.to_vec()).expect("text");
            let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
            lines
                .map(|line| serde_json::from_str(line).expect("a change"))
                .map(|change: api::VaultChange| {
                    let made = change.produced.into_iter().map(|state| state.state_ref);
                    (change.seq, [made.collect(), change.consumed])
                })
                .collect::<Vec<(u64, [Vec<String>; 2])>>()
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let narrow = |name: &str| name.starts_with("x.");
        let piece = kept.after(0, Some(&narrow)).expect("a piece");
        assert_eq!((piece.looked_at, piece.upto), (whole, 64));
        assert_eq!(
            told(&piece.events),
            [
                (1, [names(&["made0"]), names(&["spent0"])]),
                (3, [names(&["made1", "made2"]), names(&["spent0"])]),
                (5, [names(&[]), names(&["spent0"])]),
            ]
        );
        let nothing = |_: &str| false;
        let piece = kept.after(0, Some(&nothing)).expect("a piece");
        assert_eq!((piece.events.len(), piece.upto), (0, 64));
        let piece = kept.after(0, None).expect("a piece");
        assert_eq!((piece.events.len(), told(&piece.events).len()), (whole, 5));
    }

    fn piece(text: &'static str, upto: u64) -> Piece {
        Piece {
            events: Bytes::from(text),
            looked_at: text.len(),
            upto,
        }
    }

    #[test]
    fn a_page_grows_and_is_read_from_anywhere() {
        let mut kept = KeptPages::default();
        kept.add(1, of([65, 67], 0), 70);
        for (after, expected) in [
            (63, None),
            (64, Some(("65,67,", 70))),
            (65, Some(("67,", 70))),
            (69, Some(("", 70))),
            (70, None),
        ] {
            let expected = expected.map(|(text, upto)| piece(text, upto));
            assert_eq!(kept.after(after, None), expected, "after {after}");
        }
        kept.add(1, of([71], 0), 128);
        assert_eq!(kept.after(67, None), Some(piece("71,", 128)));
        assert_eq!(kept.after(128, None), None, "of the next page");
    }

    #[test]
    fn a_large_page_is_handed_out_in_pieces() {
        let mut kept = KeptPages::default();
        kept.add(0, of(1..=3, PIECE_BYTES / 2), 64);
        let first = kept.after(0, None).expect("the first piece");
        assert_eq!((first.events.len() > PIECE_BYTES, first.upto), (true, 2));
        let second = kept.after(first.upto, None).expect("the second");
        assert_eq!(
            (second.events.len(), second.upto),
            (PIECE_BYTES / 2 + 2, 64)
        );
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_was_read_last_stays() {
        let mut kept = KeptPages::default();
        let quarter = KEPT_BYTES_MAX / 4;
        for number in 0..4 {
            let begin = number * PAGE_POSITIONS;
            kept.add(number, of([begin + 1], quarter - 5), begin + PAGE_POSITIONS);
        }
        assert!(kept.after(0, None).is_some(), "the first was read last");
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
