//! Rows for readers that want every unit. They are handed over in batches, so that the hot path neither waits nor writes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// Rows in a batch.
pub const BATCH_ROWS: usize = 256;
/// Upper limit on batches waiting for the reader. Further rows are lost and counted.
const BATCHES_MAX: usize = 512;

/// One measured unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRow {
    /// When it was due (open loop) or started (closed), milliseconds since 1970.
    pub at_unix_ms: u64,
    /// From that time to its end, microseconds. Percentiles are computed from this.
    pub elapsed_us: u64,
    /// From its actual start to its end, microseconds.
    pub latency_us: u64,
    /// The kind of work.
    pub work: usize,
    /// The error code if it failed.
    pub code: Option<String>,
    /// The worker, or the turn of an open loop.
    pub slot: u32,
}

/// The destination of rows. Clones share it.
#[derive(Clone, Debug)]
pub struct SampleSink {
    to: Arc<Mutex<Option<mpsc::Sender<Vec<SampleRow>>>>>,
    lost: Arc<AtomicU64>,
}

impl SampleSink {
    /// Creates a sink and the receiver of its batches. The batches end when the last sink is dropped, or one of them is
    /// closed.
    pub fn channel() -> (Self, mpsc::Receiver<Vec<SampleRow>>) {
        let (to, batches) = mpsc::channel(BATCHES_MAX);
        let to = Arc::new(Mutex::new(Some(to)));
        let lost = Arc::default();
        (Self { to, lost }, batches)
    }

    /// Returns the number of rows lost because the reader was too slow.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Hands a batch over, or counts it as lost.
    pub fn send(&self, batch: Vec<SampleRow>) {
        let rows = batch.len() as u64;
        let to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = to.as_ref().is_some_and(|to| to.try_send(batch).is_ok());
        if rows > 0 && !taken {
            self.lost.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// Ends the batches. Rows that remaining clones send are lost.
    pub fn close(&self) {
        *self.to.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
