//! The keys whose rows changed since the last fold.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::ChangedKey;

/// Estimated bytes of a changed key in memory, in addition to its own bytes.
const KEY_OVERHEAD_BYTES: usize = 72;
/// Maximum bytes of changed keys that wait. At this size the next commit is not applied before a fold has begun.
const CHANGES_BYTES_MAX: usize = 64 << 20;

/// The keys that changed since the last fold.
#[derive(Default)]
pub(crate) struct Changes {
    state: Mutex<Changed>,
    /// A fold has taken the keys, or the node stops.
    taken: Condvar,
    /// There are too many keys, or the node stops.
    due: Condvar,
}

#[derive(Default)]
struct Changed {
    keys: HashSet<ChangedKey>,
    bytes: usize,
    /// The last commit whose keys are included.
    number: u64,
    stopping: bool,
}

impl Changes {
    /// Adds the keys of a commit. Blocks while too many wait.
    pub(crate) fn add(&self, number: u64, keys: Vec<ChangedKey>) {
        let mut state = self.lock();
        while state.bytes >= CHANGES_BYTES_MAX && !state.stopping {
            self.due.notify_all();
            state = self
                .taken
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        assert!(number > state.number, "commits are applied in order");
        state.number = number;
        for key in keys {
            let bytes = key.key.len() + KEY_OVERHEAD_BYTES;
            if state.keys.insert(key) {
                state.bytes += bytes;
            }
        }
    }

    /// Takes all keys, and the number of the last commit.
    pub(crate) fn take(&self) -> (HashSet<ChangedKey>, u64) {
        let mut state = self.lock();
        state.bytes = 0;
        let taken = (std::mem::take(&mut state.keys), state.number);
        drop(state);
        self.taken.notify_all();
        taken
    }

    /// Waits until a fold is due. Returns false if the node stops.
    pub(crate) fn wait(&self, pause: Duration) -> bool {
        let deadline = Instant::now() + pause;
        let mut state = self.lock();
        while !state.stopping && state.bytes < CHANGES_BYTES_MAX {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.due.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        !state.stopping
    }

    /// Ends the folds, and lets every waiting commit go on.
    pub(crate) fn stop(&self) {
        self.lock().stopping = true;
        self.due.notify_all();
        self.taken.notify_all();
    }

    /// Sets the number of the last commit before the first one that is added.
    pub(crate) fn begin(&self, number: u64) {
        self.lock().number = number;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Changed> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
