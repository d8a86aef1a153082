//! The place of a download, held as long as the client takes the file.
//!
//! A client has to take [`PROGRESS_BYTES`], or the remaining bytes, in the time that the body of a request may take. Otherwise it
//! is stalled: its place is given back, and its connection or stream is ended. A task does this, because an answer from which
//! nothing is taken is not polled.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::cut::Cut;
use super::options::PROGRESS_BYTES;
use crate::uploads::Place;

/// The supervision of a download. It gives its place back when it is dropped.
pub(super) struct DownloadWatch {
    due: Arc<Mutex<Due>>,
    patience: Duration,
    watcher: AbortHandle,
}

struct Due {
    /// The claim of the download, held until it ends.
    place: Option<Place>,
    /// The time at which the client has to have asked for more. `None` while the client waits for this node.
    at: Option<Instant>,
}

impl DownloadWatch {
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

    /// Notes that the client gets this number of bytes. Returns whether the download may continue.
    pub(super) fn gives(&self, bytes: usize) -> bool {
        let mut due = lock(&self.due);
        due.at = Some(Instant::now() + self.patience);
        let place = due.place.as_ref();
        place.inspect(|place| place.sent(bytes)).is_some()
    }
}

impl Drop for DownloadWatch {
    fn drop(&mut self) {
        self.watcher.abort();
        lock(&self.due).place = None;
    }
}

async fn watch(due: Arc<Mutex<Due>>, patience: Duration, cut: Option<Cut>) {
    loop {
        let at = lock(&due).at;
        // While the client waits for this node, nothing is due before the patience of a next piece.
        sleep_until(at.unwrap_or_else(|| Instant::now() + patience)).await;
        let place = {
            let mut due = lock(&due);
            if due.at.is_none_or(|at| at > Instant::now()) {
                continue;
            }
            due.place.take()
        };
        // Without a place the download has just ended, and its connection may carry another one.
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
