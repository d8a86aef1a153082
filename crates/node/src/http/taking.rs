//! The place of a download, held as long as the client takes the file.
//!
//! Whoever takes less than [`PROGRESS_BYTES`], or what is left, in the time that a body of a request has, is no slow client but a
//! stalled one: the place is given back, and what carries the answer is ended. A task sees to it, because an answer of which
//! nothing is taken is not polled.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::cut::Cut;
use super::options::PROGRESS_BYTES;
use crate::uploads::Place;

/// See the module. Dropped, it gives its place back.
pub(super) struct Taking {
    due: Arc<Mutex<Due>>,
    patience: Duration,
    watcher: AbortHandle,
}

struct Due {
    /// Until the download ends.
    place: Option<Place>,
    /// When the client has to have asked for more; nothing while it is us for whom it waits.
    at: Option<Instant>,
}

impl Taking {
    /// Call within the runtime.
    pub(super) fn new(place: Place, patience: Duration, cut: Option<Cut>) -> Self {
        let due = Arc::new(Mutex::new(Due {
            place: Some(place),
            at: Some(Instant::now() + patience),
        }));
        let watcher = tokio::spawn(watch(Arc::clone(&due), patience, cut));
        Self {
            due,
            patience,
            watcher: watcher.abort_handle(),
        }
    }

    /// The client asked for more than is here.
    pub(super) fn waits_for_us(&self) {
        lock(&self.due).at = None;
    }

    /// The client gets so many bytes. Whether it still may.
    pub(super) fn gives(&self, bytes: usize) -> bool {
        let mut due = lock(&self.due);
        due.at = Some(Instant::now() + self.patience);
        let place = due.place.as_ref();
        place.inspect(|place| place.sent(bytes)).is_some()
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        self.watcher.abort();
        lock(&self.due).place = None;
    }
}

async fn watch(due: Arc<Mutex<Due>>, patience: Duration, cut: Option<Cut>) {
    loop {
        let at = lock(&due).at;
        sleep_until(at.unwrap_or_else(|| Instant::now() + patience)).await;
        let place = {
            let mut due = lock(&due);
            if due.at.is_none_or(|at| at > Instant::now()) {
                continue;
            }
            due.place.take()
        };
        // Without one the download ended a moment ago, and what carried it may carry something else.
        if place.is_some() {
            tracing::debug!(
                "a client took fewer than {PROGRESS_BYTES} bytes of a file within {patience:?}"
            );
            drop(place);
            if let Some(cut) = cut {
                cut.end();
            }
        }
        return;
    }
}

fn lock(due: &Mutex<Due>) -> MutexGuard<'_, Due> {
    due.lock().unwrap_or_else(PoisonError::into_inner)
}
