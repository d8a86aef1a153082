//! A numbered stream of rows to one peer: a bounded window in flight, a bounded tail in memory, the rest in the store.
//!
//! ```text
//!   numbers:   ...answered | window (sent, unanswered) | only in the store | tail (in memory) | last
//!                  aside ^                             ^ read
//! ```
//! Rows *aside* were sent and stay unanswered while others are answered. They take no room in the window; see
//! [`Stream::set_aside`].
//!
//! # Invariants
//! - The window grows only at `read`, in the order of numbers.
//! - The tail is contiguous and ends at `last`. While no row lies between `read` and the tail, the store is not read.
//! - While the peer is away, both are empty, and nothing is aside.

use std::collections::{BTreeMap, VecDeque};

use primitives::Monotonic;

/// Maximum number of rows per peer that are kept in memory although the peer leaves them unanswered and answers later ones.
/// Beyond it, the oldest are forgotten: removed from memory, but not from the store, and sent again when the peer connects
/// next.
pub const ASIDE_MAX: usize = 16_384;

/// Limits of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowLimits {
    pub(super) items_max: usize,
    pub(super) bytes_max: usize,
}

#[derive(Debug)]
pub(super) struct Stream<T> {
    limits: WindowLimits,
    /// The last number assigned.
    last: u64,
    /// Every row up to this number is answered, in the window, in `aside`, or forgotten.
    read: u64,
    up: bool,
    /// Set while rows are being read from the store: the last number assigned at the time of the question, and the maximum number
    /// of rows.
    refilling: Option<(u64, usize)>,
    /// The size of the row after `read`, if it was read and found no room.
    next_bytes: usize,
    /// Whether the rows being read were asked for before the peer went away. Such rows are ignored.
    stale: bool,
    window: BTreeMap<u64, (T, usize)>,
    window_bytes: usize,
    aside: BTreeMap<u64, (T, usize)>,
    /// The range of `aside` to send again: first and last number.
    aside_due: Option<(u64, u64)>,
    /// The last number of `aside` that was sent again.
    aside_sent: u64,
    /// Rows that were aside and are now only in the store: the first number and the count.
    forgotten: Option<(u64, usize)>,
    tail: VecDeque<(u64, T, usize)>,
    tail_bytes: usize,
    /// The first number not sent since the peer connected, or since a timer.
    unsent: u64,
    pub(super) attempts: u32,
    pub(super) deadline: Option<Monotonic>,
}

impl<T: Clone> Stream<T> {
    /// Creates a stream whose rows in the store are `first_row..=last_row`.
    pub(super) fn new(limits: WindowLimits, first_row: u64, last_row: u64) -> Stream<T> {
        Stream {
            limits,
            last: last_row,
            // Rows are numbered from 1. Zero means that there is no row.
            read: first_row.saturating_sub(1),
            up: false,
            refilling: None,
            next_bytes: 0,
            stale: false,
            window: BTreeMap::new(),
            window_bytes: 0,
            aside: BTreeMap::new(),
            aside_due: None,
            aside_sent: 0,
            forgotten: None,
            tail: VecDeque::new(),
            tail_bytes: 0,
            unsent: 0,
            attempts: 0,
            deadline: None,
        }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn in_flight(&self) -> usize {
        self.window.len() + self.aside.len()
    }

    /// Counts the unanswered rows that take no room in the window.
    pub(super) fn aside(&self) -> usize {
        self.aside.len() + self.forgotten.map_or(0, |(_, count)| count)
    }

    pub(super) fn has_backlog(&self) -> bool {
        self.read < self.last
    }

    /// Assigns a number to a new row.
    pub(super) fn push(&mut self, item: &T, bytes: usize) -> u64 {
        self.last += 1;
        if self.up {
            self.tail.push_back((self.last, item.clone(), bytes));
            self.tail_bytes += bytes;
            self.take_tail();
            while self.tail.len() > self.limits.items_max || self.tail_bytes > self.limits.bytes_max
            {
                let Some((_, _, bytes)) = self.tail.pop_front() else {
                    break;
                };
                self.tail_bytes -= bytes;
            }
        }
        self.last
    }

    /// Notes that the peer is connected; nothing has been sent to it yet.
    pub(super) fn peer_up(&mut self) {
        self.peer_down();
        self.up = true;
    }

    /// Notes that the peer is away and drops all rows from memory; the store has them.
    pub(super) fn peer_down(&mut self) {
        let firsts = [
            self.forgotten.map(|(first, _)| first),
            self.aside.first_key_value().map(|(first, _)| *first),
            self.window.first_key_value().map(|(first, _)| *first),
        ];
        if let Some(first) = firsts.into_iter().flatten().min() {
            self.read = first - 1;
        }
        self.next_bytes = 0;
        self.aside.clear();
        (self.aside_due, self.aside_sent, self.forgotten) = (None, 0, None);
        self.window.clear();
        self.window_bytes = 0;
        self.tail.clear();
        self.tail_bytes = 0;
        self.unsent = 0;
        self.attempts = 0;
        self.stale = self.refilling.is_some();
        self.up = false;
    }

    /// Removes an answered row. Returns its item if it was in the window or aside.
    pub(super) fn remove(&mut self, seq: u64) -> Option<T> {
        if let Some((item, _)) = self.aside.remove(&seq) {
            self.attempts = 0;
            return Some(item);
        }
        let (item, bytes) = self.window.remove(&seq)?;
        self.window_bytes -= bytes;
        self.attempts = 0;
        self.take_tail();
        Some(item)
    }

    /// Moves the sent rows with numbers below `before` from the window to `aside`, to make room for other rows. The peer left
    /// them unanswered, for any reason. They can still be answered, and they are sent again like the rows of the window.
    /// Returns the items of the oldest rows, which are dropped if `aside` holds more than [`ASIDE_MAX`]; the next connection
    /// reads them from the store.
    pub(super) fn set_aside(&mut self, before: u64) -> Vec<T> {
        while let Some(entry) = self.window.first_entry() {
            // The peer cannot have left a row unanswered that was not sent.
            if *entry.key() >= before.min(self.unsent) {
                break;
            }
            let (seq, row) = entry.remove_entry();
            self.window_bytes -= row.1;
            self.aside.insert(seq, row);
        }
        let mut forgotten = Vec::new();
        while self.aside.len() > ASIDE_MAX
            && let Some((seq, (item, _))) = self.aside.pop_first()
        {
            // The first forgotten row begins the range.
            let (first, count) = self.forgotten.unwrap_or((seq, 0));
            self.forgotten = Some((first.min(seq), count + 1));
            forgotten.push(item);
        }
        self.take_tail();
        forgotten
    }

    /// Removes all rows up to a number, which were answered, in the window or not.
    pub(super) fn remove_upto(&mut self, upto: u64) {
        while let Some(entry) = self.window.first_entry() {
            if *entry.key() > upto {
                break;
            }
            self.window_bytes -= entry.remove().1;
        }
        while let Some((seq, _, bytes)) = self.tail.front() {
            if *seq > upto {
                break;
            }
            self.tail_bytes -= bytes;
            self.tail.pop_front();
        }
        self.read = self.read.max(upto);
        self.next_bytes = 0;
        self.attempts = 0;
        self.take_tail();
    }

    /// Returns the rows to read, if the store holds rows between the window and the tail and the window has room: the number
    /// after which to read, and how many.
    pub(super) fn refill(&mut self) -> Option<(u64, usize)> {
        let before_tail = self.tail.front().map_or(self.last, |(seq, ..)| seq - 1);
        let busy = !self.up || self.refilling.is_some();
        if busy || self.read >= before_tail || !self.has_room(self.next_bytes) {
            return None;
        }
        // Reads about as many rows as will fit. A row that does not fit is read again.
        // Clipped at 0: an empty window takes a row of any size.
        let left_bytes = self.limits.bytes_max.saturating_sub(self.window_bytes);
        let likely = match self.window_bytes.checked_div(self.window.len()) {
            Some(average) => (2 * left_bytes).div_ceil(average.max(1)).max(4),
            None => usize::MAX,
        };
        assert!(
            self.window.len() <= self.limits.items_max,
            "the window has {} rows; at most {} fit",
            self.window.len(),
            self.limits.items_max
        );
        let left = self.limits.items_max - self.window.len();
        let limit = left.min(likely).max(1);
        self.refilling = Some((self.last, limit));
        Some((self.read, limit))
    }

    /// Takes rows that were read, in order. Missing numbers between them have been answered. With `more`, reading stopped early,
    /// and the rows after the last one are still in the store.
    pub(super) fn refilled(
        &mut self,
        rows: impl ExactSizeIterator<Item = (u64, T, usize)>,
        more: bool,
    ) {
        let Some((asked_last, limit)) = self.refilling.take() else {
            return;
        };
        if std::mem::take(&mut self.stale) || !self.up {
            return;
        }
        let mut complete = !more && rows.len() < limit;
        for (seq, item, bytes) in rows {
            if seq <= self.read {
                continue;
            }
            if !self.has_room(bytes) {
                self.next_bytes = bytes;
                complete = false;
                break;
            }
            self.enter(seq, item, bytes);
        }
        if complete && asked_last > self.read {
            self.read = asked_last;
            self.next_bytes = 0;
        }
        // The rows read may overlap the tail, even if not all of them found room.
        while let Some((seq, _, bytes)) = self.tail.front() {
            if *seq > self.read {
                break;
            }
            self.tail_bytes -= bytes;
            self.tail.pop_front();
        }
        self.take_tail();
    }

    /// Returns the unsent rows of the window and the rows of `aside` that are due; they count as sent from now on.
    pub(super) fn take_unsent(&mut self) -> impl Iterator<Item = (u64, &T, usize)> {
        let from = self.unsent;
        self.unsent = self.read + 1;
        let aside = self.aside_due.take();
        let aside = aside.map(|(first, last)| self.aside.range(first..=last));
        aside
            .into_iter()
            .flatten()
            .chain(self.window.range(from..))
            .map(|(seq, (item, bytes))| (*seq, item, *bytes))
    }

    /// Schedules the whole window to be sent again, and the next rows of `aside` in turn, as many as a window holds.
    pub(super) fn send_again(&mut self) {
        if self.aside.range(self.aside_sent + 1..).next().is_none() {
            self.aside_sent = 0;
        }
        let mut bytes = 0;
        for (seq, (_, size)) in self
            .aside
            .range(self.aside_sent + 1..)
            .take(self.limits.items_max)
        {
            bytes += size;
            if bytes > self.limits.bytes_max && self.aside_due.is_some() {
                break;
            }
            // The first due row begins the range.
            let (first, _) = self.aside_due.unwrap_or((*seq, *seq));
            self.aside_due = Some((first, *seq));
            self.aside_sent = *seq;
        }
        self.unsent = 0;
        self.attempts += 1;
    }

    fn take_tail(&mut self) {
        while let Some((seq, _, bytes)) = self.tail.front() {
            if *seq != self.read + 1 || !self.has_room(*bytes) {
                break;
            }
            if let Some((seq, item, bytes)) = self.tail.pop_front() {
                self.tail_bytes -= bytes;
                self.enter(seq, item, bytes);
            }
        }
    }

    fn enter(&mut self, seq: u64, item: T, bytes: usize) {
        self.window.insert(seq, (item, bytes));
        self.window_bytes += bytes;
        self.read = seq;
        self.next_bytes = 0;
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.window.is_empty()
            || (self.window.len() < self.limits.items_max
                && self.window_bytes + bytes <= self.limits.bytes_max)
    }
}
