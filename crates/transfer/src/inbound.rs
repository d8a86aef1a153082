//! The fetches from one peer, in the orders of their selection.

use std::collections::BTreeSet;

use primitives::Hash;

use crate::pace::Pace;

/// A file of more chunks than this is a large one: it leaves some slots to others.
const LARGE_CHUNKS: u64 = 4;
/// At every fourth choice the oldest fetch goes first, regardless of its size.
const OLDEST_TURN: u64 = 4;

/// The fetches from one peer, and the peer's progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbound {
    pub(crate) up: bool,
    /// All fetches whose present source it is.
    pub(crate) own: BTreeSet<Hash>,
    /// Those that it has to be asked for, oldest first.
    pub(crate) wanting: BTreeSet<(u64, Hash)>,
    /// How many it was asked for without an answer.
    pub(crate) wanted: usize,
    /// Those that it has offered: by size, and by age.
    pub(crate) offered: BTreeSet<(u64, u64, Hash)>,
    pub(crate) offered_by_age: BTreeSet<(u64, u64, Hash)>,
    /// Those that have a slot.
    pub(crate) moving: BTreeSet<Hash>,
    /// How many of them are large.
    pub(crate) large: usize,
    /// The last time at which enough was heard of the peer, for any file.
    pub(crate) pace: Pace,
    /// It kept a slot without filling it, and nothing has come since: it has one file at a time.
    pub(crate) is_silent: bool,
    /// Bytes that were asked for and are no longer awaited, or were asked for again: this many may still arrive
    /// unneeded.
    pub(crate) late: u64,
    /// The last time at which a fault of this peer was reported.
    pub(crate) told_ms: Option<u64>,
}

/// Tells whether a file counts as large; large files leave some slots to others.
pub(crate) fn is_large(size: u64, chunk_bytes: u32) -> bool {
    size > LARGE_CHUNKS * u64::from(chunk_bytes)
}

/// Returns the number of slots that large files may take.
pub(crate) fn large_max(slots: usize) -> usize {
    (slots - slots / 4).max(1)
}

/// Tells whether it is the oldest's turn.
pub(crate) fn is_oldest_turn(picks: u64) -> bool {
    picks.is_multiple_of(OLDEST_TURN)
}

impl Inbound {
    pub(crate) fn offer(&mut self, size: u64, order: u64, hash: Hash) {
        self.offered.insert((size, order, hash));
        self.offered_by_age.insert((order, size, hash));
    }

    pub(crate) fn withdraw(&mut self, size: u64, order: u64, hash: Hash) {
        self.offered.remove(&(size, order, hash));
        self.offered_by_age.remove(&(order, size, hash));
    }

    /// Returns the offered file that should move next: the smallest, but every few times the oldest.
    pub(crate) fn choose(&self, picks: u64, large_fits: bool, chunk_bytes: u32) -> Option<Hash> {
        let fits = |size: &u64| large_fits || !is_large(*size, chunk_bytes);
        let oldest = || {
            self.offered_by_age
                .first()
                .map(|(_, size, hash)| (size, hash))
        };
        let smallest = self.offered.first().map(|(size, _, hash)| (size, hash));
        let aged = if is_oldest_turn(picks) {
            oldest().filter(|(size, _)| fits(size))
        } else {
            None
        };
        let (_, hash) = aged.or_else(|| smallest.filter(|(size, _)| fits(size)))?;
        Some(*hash)
    }

    /// Tells whether nothing needs to be remembered of the peer.
    pub(crate) fn is_idle(&self) -> bool {
        !self.up && self.own.is_empty()
    }
}
