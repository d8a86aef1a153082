//! What the API's threads know of the kernel's room for starts, so that most of an overload is turned away before its arguments
//! are read and before it costs the kernel anything. The kernel stays the judge of whatever passes.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use kernel::Room as KernelRoom;

use crate::http::Room;

/// Starts on their way to the kernel while one with a client id is still let through although there is no room: whether the
/// id is known costs the kernel a look into its store.
const QUESTIONS_MAX: usize = 64;

/// See the module.
#[derive(Debug)]
pub(super) struct Gate {
    places: AtomicUsize,
    retry_after_ms: AtomicU64,
    /// Handed over, not judged yet.
    on_their_way: AtomicUsize,
    turned_away: AtomicU64,
}

impl Gate {
    /// As a kernel says before its first round.
    pub(super) fn new(room: KernelRoom) -> Self {
        Self {
            places: AtomicUsize::new(room.places),
            retry_after_ms: AtomicU64::new(room.retry_after_ms),
            on_their_way: AtomicUsize::new(0),
            turned_away: AtomicU64::new(0),
        }
    }

    /// What room there is for further starts.
    pub(super) fn room(&self) -> Room {
        let on_their_way = self.on_their_way.load(Ordering::Acquire);
        Room {
            places: self
                .places
                .load(Ordering::Relaxed)
                .saturating_sub(on_their_way),
            questions: QUESTIONS_MAX.saturating_sub(on_their_way),
            retry_after_ms: self.retry_after_ms.load(Ordering::Relaxed),
        }
    }

    /// So many starts are on their way to the kernel.
    pub(super) fn hand_over(&self, count: usize) {
        self.on_their_way.fetch_add(count, Ordering::Relaxed);
    }

    /// The kernel has judged so many starts, and this is the room it has now. In between there seems to be less than there is.
    pub(super) fn judged(&self, count: usize, room: KernelRoom) {
        self.retry_after_ms
            .store(room.retry_after_ms, Ordering::Relaxed);
        self.places.store(room.places, Ordering::Relaxed);
        self.on_their_way.fetch_sub(count, Ordering::Release);
    }

    /// So many starts were turned away without the kernel.
    pub(super) fn turn_away(&self, count: u64) {
        self.turned_away.fetch_add(count, Ordering::Relaxed);
    }

    /// How many were, since the start.
    pub(super) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_its_way_counts_until_it_is_judged() {
        let room = |places| KernelRoom {
            places,
            retry_after_ms: 70,
        };
        let gate = Gate::new(room(100));
        // Handed over, then judged with so many places; what is there then.
        for (handed, judged, places, expected) in [
            (0, 0, 100, (100, 64)),
            (60, 0, 100, (40, 4)),
            (40, 0, 100, (0, 0)),
            (0, 100, 10, (10, 64)),
            (10, 0, 10, (0, 54)),
            (0, 10, 0, (0, 64)),
        ] {
            gate.hand_over(handed);
            gate.judged(judged, room(places));
            let found = gate.room();
            assert_eq!((found.places, found.questions), expected);
            assert_eq!(found.retry_after_ms, 70);
        }
        gate.turn_away(3);
        assert_eq!(gate.turned_away(), 3);
    }
}
