//! The API's copy of the kernel's room for starts. Most starts of an overload are refused by it before their arguments are read,
//! at no cost for the kernel. The kernel decides on every start that passes.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use kernel::StartCapacity as KernelCapacity;

use crate::http::StartCapacity;

/// Maximum number of starts on their way to the kernel at which a start with a client id still passes without room. The kernel
/// must read its store to find a known id.
const QUESTIONS_MAX: usize = 64;

/// The API's copy of the kernel's room for starts.
#[derive(Debug)]
pub(super) struct Gate {
    places: AtomicUsize,
    retry_after_ms: AtomicU64,
    /// Starts that the kernel has not decided on yet.
    on_their_way: AtomicUsize,
    turned_away: AtomicU64,
}

impl Gate {
    /// Returns the gate of a kernel with this room, before its first round.
    pub(super) fn new(room: KernelCapacity) -> Self {
        Self {
            places: AtomicUsize::new(room.places),
            retry_after_ms: AtomicU64::new(room.retry_after_ms),
            on_their_way: AtomicUsize::new(0),
            turned_away: AtomicU64::new(0),
        }
    }

    /// Returns the room for further starts.
    pub(super) fn start_capacity(&self) -> StartCapacity {
        let on_their_way = self.on_their_way.load(Ordering::Acquire);
        // Both are clipped at 0: more starts may be on their way than there is room for.
        StartCapacity {
            places: self
                .places
                .load(Ordering::Relaxed)
                .saturating_sub(on_their_way),
            questions: QUESTIONS_MAX.saturating_sub(on_their_way),
            retry_after_ms: self.retry_after_ms.load(Ordering::Relaxed),
        }
    }

    /// Counts starts that are on their way to the kernel.
    pub(super) fn hand_over(&self, count: usize) {
        self.on_their_way.fetch_add(count, Ordering::Relaxed);
    }

    /// Notes that the kernel has decided on this number of starts and now has this room. Between the two updates the room seems smaller
    /// than it is.
    pub(super) fn judged(&self, count: usize, room: KernelCapacity) {
        self.retry_after_ms
            .store(room.retry_after_ms, Ordering::Relaxed);
        self.places.store(room.places, Ordering::Relaxed);
        self.on_their_way.fetch_sub(count, Ordering::Release);
    }

    /// Counts starts that were refused without the kernel.
    pub(super) fn turn_away(&self, count: u64) {
        self.turned_away.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the number of starts refused without the kernel since the node started.
    pub(super) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_its_way_counts_until_it_is_judged() {
        let room = |places| KernelCapacity {
            places,
            retry_after_ms: 70,
        };
        let gate = Gate::new(room(100));
        // The starts handed over and judged, the places, and the expected room.
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
            let found = gate.start_capacity();
            assert_eq!((found.places, found.questions), expected);
            assert_eq!(found.retry_after_ms, 70);
        }
        gate.turn_away(3);
        assert_eq!(gate.turned_away(), 3);
    }
}
