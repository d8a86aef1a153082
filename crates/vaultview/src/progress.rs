//! The view's progress, for callers that wait for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The ledger sequence of the last transaction in the view; all earlier ones are in it too. Cheap to clone.
#[derive(Clone, Default)]
pub struct ViewProgress {
    shared: Arc<(Mutex<u64>, Condvar)>,
}

impl ViewProgress {
    /// Returns the last ledger sequence that is in the view.
    pub fn upto(&self) -> u64 {
        *self.lock()
    }

    /// Waits until the view contains the ledger sequence `seq`. Returns false if it does not within the time `deadline`.
    pub fn wait_for(&self, seq: u64, deadline: Duration) -> bool {
        let until = Instant::now() + deadline;
        let mut upto = self.lock();
        while *upto < seq {
            let Some(left) = until
                .checked_duration_since(Instant::now())
                .filter(|left| !left.is_zero())
            else {
                return false;
            };
            let waited = self.shared.1.wait_timeout(upto, left);
            upto = waited.unwrap_or_else(|panicked| panicked.into_inner()).0;
        }
        true
    }

    pub(super) fn set(&self, upto: u64) {
        *self.lock() = upto;
        self.shared.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        // A number is always whole.
        self.shared
            .0
            .lock()
            .unwrap_or_else(|panicked| panicked.into_inner())
    }
}
