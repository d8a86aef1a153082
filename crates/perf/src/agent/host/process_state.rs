//! A process of a host, as the coordinator knows it by the host's reports.

use std::process::ExitStatus;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::topology::host::Readiness;

/// A process of a host, by the reports so far.
#[derive(Debug, Default)]
pub(super) struct ProcessState {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    ready: Option<Duration>,
    ended: Option<ExitStatus>,
}

impl ProcessState {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that it was ready this long after its start.
    pub(super) fn ready(&self, after: Duration) {
        self.progress().ready.get_or_insert(after);
        self.changed.notify_all();
    }

    /// Notes its end. The first status counts.
    pub(super) fn end(&self, status: ExitStatus) {
        self.progress().ended.get_or_insert(status);
        self.changed.notify_all();
    }

    /// Waits until it is ready or has ended.
    pub(super) fn wait_ready(&self, patience: Duration) -> Readiness {
        let progress = self.wait(patience, |progress| {
            progress.ready.is_some() || progress.ended.is_some()
        });
        match (progress.ready, progress.ended) {
            (Some(after), _) => Readiness::Ready(after),
            (None, Some(_)) => Readiness::Ended,
            (None, None) => Readiness::NotYet,
        }
    }

    /// Waits until it has ended.
    pub(super) fn wait_ended(&self, patience: Duration) -> Option<ExitStatus> {
        self.wait(patience, |progress| progress.ended.is_some())
            .ended
    }

    fn wait(&self, patience: Duration, is_over: impl Fn(&Progress) -> bool) -> Progress {
        let deadline = Instant::now() + patience;
        let mut progress = self.progress();
        while !is_over(&progress) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(progress, left);
            progress = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *progress
    }
}
