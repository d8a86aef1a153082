//! The fetches from one peer, sorted by the orders that the choice of the next one needs.

use std::collections::BTreeSet;

use primitives::Hash;

use crate::pace::Pace;

/// A file of more chunks than this counts as large. Large files may not take all slots.
const LARGE_CHUNKS: u64 = 4;
/// At every fourth choice the oldest fetch goes first, regardless of its size.
const OLDEST_TURN: u64 = 4;

/// The fetches from one peer, and the peer's progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbound {
    pub(crate) up: bool,
    /// All fetches whose current source is this peer.
    pub(crate) own: BTreeSet<Hash>,
    /// Those that the peer must still be asked for, oldest first.
    pub(crate) wanting: BTreeSet<(u64, Hash)>,
    /// How many the peer was asked for and has not answered.
    pub(crate) wanted: usize,
    /// Those that it has offered: by size, and by age.
    pub(crate) offered: BTreeSet<(u64, u64, Hash)>,
    pub(crate) offered_by_age: BTreeSet<(u64, u64, Hash)>,
    /// Those that have a slot.
    pub(crate) moving: BTreeSet<Hash>,
    /// How many of them are large.
    pub(crate) large: usize,
    /// When the peer last made enough progress, with any file.
    pub(crate) pace: Pace,
    /// Whether the peer last had a slot without sending enough, and has not made enough progress since. It then gets one slot
    /// only.
    pub(crate) is_silent: bool,
    /// Bytes that were requested and are no longer awaited, or were requested again. Up to this many may still arrive. They are
    /// dropped, but count as progress of the peer.
    pub(crate) late: u64,
    /// The last time at which a fault of this peer was reported.
    pub(crate) told_ms: Option<u64>,
}

/// Tells whether a file counts as large. Large files may not take all slots.
pub(crate) fn is_large(size: u64, chunk_bytes: u32) -> bool {
    size > LARGE_CHUNKS * u64::from(chunk_bytes)
}

/// Returns the number of slots that large files may take.
pub(crate) fn large_max(slots: usize) -> usize {
    (slots - slots / 4).max(1)
}

/// Tells whether the oldest file is chosen, regardless of its size.
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

    /// Returns the offered file that gets the next slot: the smallest, but at every fourth choice the oldest.
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

    /// Tells whether the peer's entry holds nothing and can be removed.
    pub(crate) fn is_idle(&self) -> bool {
        !self.up && self.own.is_empty()
    }
}
