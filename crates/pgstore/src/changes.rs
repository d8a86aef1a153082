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

impl Changed {
    fn insert(&mut self, number: u64, keys: Vec<ChangedKey>) {
        assert!(number > self.number, "commits are applied in order");
        self.number = number;
        for key in keys {
            let bytes = key.key.len() + KEY_OVERHEAD_BYTES;
            if self.keys.insert(key) {
                self.bytes += bytes;
            }
        }
    }
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
        state.insert(number, keys);
    }

    /// Adds the keys of commits that were not folded before the start. Never blocks: no fold runs yet.
    pub(crate) fn load(&self, number: u64, keys: Vec<ChangedKey>) {
        self.lock().insert(number, keys);
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

    /// Waits until a fold is due: after the pause, or if `hurries`, as soon as too many keys wait. Returns false if the node stops.
    pub(crate) fn wait(&self, pause: Duration, hurries: bool) -> bool {
        let deadline = Instant::now() + pause;
        let mut state = self.lock();
        while !(state.stopping || hurries && state.bytes >= CHANGES_BYTES_MAX) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(from: u64) -> Vec<ChangedKey> {
        let key = |number: u64| ChangedKey {
            table: 1,
            key: number.to_be_bytes().to_vec(),
        };
        (from..from + 1_000).map(key).collect()
    }

    #[test]
    fn start_with_more_keys_than_wait_later_does_not_block() {
        let changes = Changes::default();
        changes.begin(5);
        let commits = 2 * CHANGES_BYTES_MAX / (1_000 * KEY_OVERHEAD_BYTES);
        for number in 0..commits as u64 {
            changes.load(6 + number, keys(number * 1_000));
        }
        assert!(
            changes.wait(Duration::from_secs(3_600), true),
            "a fold is due"
        );
        let (taken, last) = changes.take();
        assert_eq!((taken.len(), last), (commits * 1_000, 5 + commits as u64));
        changes.add(last + 1, keys(0));
        assert_eq!(changes.take(), (keys(0).into_iter().collect(), last + 1));
    }

    #[test]
    fn stop_lets_a_waiting_commit_go_on() {
        let changes = Changes::default();
        let commits = 2 + CHANGES_BYTES_MAX / (1_000 * KEY_OVERHEAD_BYTES);
        for number in 0..commits as u64 {
            changes.load(1 + number, keys(number * 1_000));
        }
        std::thread::scope(|scope| {
            scope.spawn(|| changes.add(commits as u64 + 1, keys(0)));
            changes.stop();
        });
        assert!(!changes.wait(Duration::from_secs(3_600), true));
    }
}
