//! The number of transfers at once, in total and for each user, and their bytes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The places for transfers.
#[derive(Debug)]
pub(super) struct Places {
    all_max: usize,
    per_user_max: usize,
    taken: Mutex<Taken>,
    received: AtomicU64,
    sent: AtomicU64,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_user: HashMap<Arc<str>, usize>,
}

/// The bytes that users have moved since the start, and the running transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferFigures {
    /// Transfers that run.
    pub running: u64,
    /// Bytes of uploads that came.
    pub received: u64,
    /// Bytes of downloads given to connections.
    pub sent: u64,
    /// Transfers and uploads that found no place.
    pub refused: u64,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    user: Arc<str>,
}

impl Places {
    pub(super) fn new(all_max: usize, per_user_max: usize) -> Self {
        Self {
            all_max,
            per_user_max,
            taken: Mutex::default(),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    pub(super) fn take(self: &Arc<Self>, user: &Arc<str>) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        // A user without an entry has no place.
        let own = taken.by_user.get(user).copied().unwrap_or(0);
        if taken.all >= self.all_max || own >= self.per_user_max {
            self.refused();
            return None;
        }
        taken.all += 1;
        taken.by_user.insert(Arc::clone(user), own + 1);
        Some(Place {
            places: Arc::clone(self),
            user: Arc::clone(user),
        })
    }

    /// Notes a transfer that found no place.
    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn figures(&self) -> TransferFigures {
        let running = self
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .all;
        TransferFigures {
            running: running as u64,
            received: self.received.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}

impl Place {
    /// Adds received bytes.
    pub(crate) fn received(&self, bytes: usize) {
        self.places
            .received
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Adds sent bytes.
    pub(crate) fn sent(&self, bytes: usize) {
        self.places.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self
            .places
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        taken.all -= 1;
        let own = taken.by_user.get_mut(&self.user);
        let own = own.expect("each place is counted");
        *own -= 1;
        if *own == 0 {
            taken.by_user.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_for_all_and_for_each_and_come_back() {
        let places = Arc::new(Places::new(3, 2));
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let first = places.take(&ann);
        let second = places.take(&ann);
        assert!(first.is_some() && second.is_some() && places.take(&ann).is_none());
        let third = places.take(&bob);
        assert!(third.is_some() && places.take(&bob).is_none());
        drop(first);
        let fourth = places.take(&bob).expect("one is free");
        fourth.received(3);
        fourth.sent(4);
        drop(fourth);
        drop((second, third));
        let figures = TransferFigures {
            running: 0,
            received: 3,
            sent: 4,
            refused: 2,
        };
        assert_eq!(places.figures(), figures);
        let taken = places.taken.lock().expect("whole");
        assert_eq!((taken.all, taken.by_user.len()), (0, 0));
    }
}
