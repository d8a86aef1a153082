//! A bound on payments that wait for a block: the offered load follows the rate of the blocks, however fast nodes accept.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Semaphore;

/// Permits for waiting payments. Each reading of a node reports how many wait there. The fullest node decides.
///
/// Payments in transit to a node during a reading count as gone from it, so the limit can be exceeded by as many as the
/// requests carry.
#[derive(Debug)]
pub struct Backlog {
    most: u64,
    places: Semaphore,
    entered: AtomicU64,
    granted: Mutex<Granted>,
}

#[derive(Debug)]
struct Granted {
    /// Permits granted so far. The number never falls.
    total: u64,
    /// The permits that the last reading of each node allows.
    by_node: Vec<u64>,
}

impl Backlog {
    /// Creates a backlog: at most `most` payments wait at any of the nodes.
    #[must_use]
    pub fn new(most: u64, nodes: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS as u64 / 2);
        Self {
            most,
            places: Semaphore::new(usize::try_from(most).expect("at most MAX_PERMITS, a usize")),
            entered: AtomicU64::new(0),
            granted: Mutex::new(Granted {
                total: most,
                by_node: vec![most; nodes],
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
            *of = (entered + self.most).saturating_sub(waiting);
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
        let backlog = Backlog::new(100, 2);
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

    #[tokio::test]
    async fn who_waits_enters_when_a_block_has_come() {
        let backlog = std::sync::Arc::new(Backlog::new(1, 1));
        backlog.enter().await;
        let other = std::sync::Arc::clone(&backlog);
        let waiting = tokio::spawn(async move { other.enter().await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        backlog.seen(0, backlog.look(), 0);
        waiting.await.expect("it has a place");
    }
}
