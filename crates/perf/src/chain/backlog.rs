//! A bound on payments that wait for a block: the offered load follows the rate of the blocks, however fast nodes accept.
//!
//! Several generators divide the free places. They do not know which of theirs the others have not used yet, so together they can exceed
//! the bound by less than its size.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

/// Permits for waiting payments. Each reading of a node reports how many wait there. The fullest node decides.
///
/// Payments in transit to a node during a reading count as gone from it, so the limit can be exceeded by as many as the
/// requests carry.
#[derive(Debug)]
pub struct Backlog {
    most: u64,
    share: Share,
    places: Semaphore,
    entered: AtomicU64,
    granted: Mutex<Granted>,
}

/// A generator's part of a load: `own` of `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// At most `all`.
    pub own: u32,
    /// At least 1.
    pub all: u32,
}

impl Share {
    /// The only generator of a load.
    pub const WHOLE: Self = Self { own: 1, all: 1 };

    /// Returns this share of a number, rounded down.
    fn of(self, whole: u64) -> u64 {
        let part = u128::from(whole) * u128::from(self.own) / u128::from(self.all.max(1));
        u64::try_from(part).unwrap_or(whole).min(whole)
    }
}

#[derive(Debug)]
struct Granted {
    /// Permits granted so far. The number never falls.
    total: u64,
    /// The permits that the last reading of each node allows.
    by_node: Vec<u64>,
}

impl Backlog {
    /// Creates a backlog: at most `most` payments wait at any of the nodes. A generator has its share of the free places, at least
    /// one. The only generator begins with all places, since nothing waits yet; one of several begins with its first reading.
    #[must_use]
    pub fn new(most: u64, nodes: usize, share: Share) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS as u64 / 2);
        let first = if share == Share::WHOLE { most } else { 0 };
        Self {
            most,
            share,
            places: Semaphore::new(usize::try_from(first).expect("at most MAX_PERMITS, a usize")),
            entered: AtomicU64::new(0),
            granted: Mutex::new(Granted {
                total: first,
                by_node: vec![first; nodes],
            }),
        }
    }

    /// Waits for a permit.
    pub async fn enter(&self) {
        // The semaphore is never closed.
        if let Ok(place) = self.places.acquire().await {
            place.forget();
            self.entered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the value to pass to [`Backlog::seen`]. Call it before a reading of a node.
    pub fn look(&self) -> u64 {
        self.entered.load(Ordering::Relaxed)
    }

    /// Records a reading of a node: `waiting` payments waited there, of `entered` that had entered.
    pub fn seen(&self, node: usize, entered: u64, waiting: u64) {
        let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of) = granted.by_node.get_mut(node) {
            // More may wait than we sent: other clients use the node too. Then nothing is granted.
            *of = match self.most.checked_sub(waiting) {
                Some(free) => entered + self.share.of(free).max(free.min(1)),
                None => entered.saturating_sub(self.share.of(waiting - self.most)),
            };
        }
        let Some(least) = granted.by_node.iter().copied().min() else {
            return;
        };
        // An earlier reading may have granted more. Places are not taken back.
        let more = least.saturating_sub(granted.total);
        granted.total += more;
        self.places
            .add_permits(usize::try_from(more).expect("at most as many as have entered"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many can enter now.
    fn enter_all(backlog: &Backlog) -> u64 {
        let mut count = 0;
        while let Ok(place) = backlog.places.try_acquire() {
            place.forget();
            backlog.entered.fetch_add(1, Ordering::Relaxed);
            count += 1;
        }
        count
    }

    #[test]
    fn as_many_enter_as_have_left_the_fullest_node() {
        let backlog = Backlog::new(100, 2, Share::WHOLE);
        assert_eq!(enter_all(&backlog), 100);
        for (node, waiting, enter) in [
            // The other node has not been seen yet.
            (0, 40, 0),
            (1, 70, 30),
            // Nothing has moved since.
            (1, 100, 0),
            (0, 100, 0),
            (0, 0, 0),
            (1, 20, 80),
            // A node that has fallen back neither withdraws permits nor grants any.
            (1, 200, 0),
            (1, 100, 0),
            (0, 100, 0),
            (1, 99, 0),
            (0, 99, 1),
        ] {
            backlog.seen(node, backlog.look(), waiting);
            assert_eq!(enter_all(&backlog), enter, "{node} {waiting}");
        }
    }

    #[test]
    fn generators_share_what_is_free() {
        let share = |own| Backlog::new(100, 1, Share { own, all: 4 });
        let (one, other) = (share(1), share(3));
        assert_eq!((enter_all(&one), enter_all(&other)), (0, 0));
        for (waiting, enter) in [
            (0, (25, 75)),
            (100, (0, 0)),
            (60, (10, 30)),
            (120, (0, 0)),
            // Each has a place at least. Without one, a small share would stop.
            (99, (1, 1)),
        ] {
            one.seen(0, one.look(), waiting);
            other.seen(0, other.look(), waiting);
            assert_eq!((enter_all(&one), enter_all(&other)), enter, "{waiting}");
        }
    }

    #[tokio::test]
    async fn who_waits_enters_when_a_block_has_come() {
        let backlog = std::sync::Arc::new(Backlog::new(1, 1, Share::WHOLE));
        backlog.enter().await;
        let other = std::sync::Arc::clone(&backlog);
        let waiting = tokio::spawn(async move { other.enter().await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        backlog.seen(0, backlog.look(), 0);
        waiting.await.expect("it has a place");
    }
}
