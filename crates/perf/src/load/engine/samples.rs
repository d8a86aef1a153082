//! Rows for whoever wants every unit: handed over in batches, so that the hot path neither waits nor writes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// Rows in a batch.
pub const BATCH_ROWS: usize = 256;
/// Batches that wait for the reader at most; a row that finds no place is lost, and counted.
const BATCHES_MAX: usize = 512;

/// One measured unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRow {
    /// When it was due (open loop) or started (closed), milliseconds since 1970.
    pub at_unix_ms: u64,
    /// From then to its end, microseconds: what percentiles are made of.
    pub elapsed_us: u64,
    /// From its actual start to its end, microseconds.
    pub latency_us: u64,
    /// Which kind of work.
    pub work: usize,
    /// Why it failed; `None` of one that was completed.
    pub code: Option<String>,
    /// The worker, or the turn of an open loop.
    pub slot: u32,
}

/// Where rows go. Clones go to the same place.
#[derive(Clone, Debug)]
pub struct SampleSink {
    to: Arc<Mutex<Option<mpsc::Sender<Vec<SampleRow>>>>>,
    lost: Arc<AtomicU64>,
}

impl SampleSink {
    /// A sink and the batches that come out of it; the batches end when the last sink is dropped, or one of them closed.
    pub fn channel() -> (Self, mpsc::Receiver<Vec<SampleRow>>) {
        let (to, batches) = mpsc::channel(BATCHES_MAX);
        let to = Arc::new(Mutex::new(Some(to)));
        let lost = Arc::default();
        (Self { to, lost }, batches)
    }

    /// Rows that found no place, because the reader was too slow.
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

    /// Ends the batches, whoever still has a clone of it: its rows are lost.
    pub fn close(&self) {
        *self.to.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
