//! What a progress bar looks at while a load runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::measure::Latencies;

/// Counters that the driver writes and anybody reads.
#[derive(Debug, Default)]
pub struct Live {
    completed: AtomicU64,
    failed: AtomicU64,
    recent: Mutex<Latencies>,
}

/// A reading of [`Live`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveReading {
    /// Completed since the load began.
    pub completed: u64,
    /// Failed since the load began.
    pub failed: u64,
    /// Median latency since the previous reading, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile since the previous reading, in milliseconds.
    pub p99_ms: f64,
}

impl Live {
    /// The counters now; the percentiles start afresh.
    pub fn read(&self) -> LiveReading {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = LiveReading {
            completed: self.completed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            p50_ms: recent.p50_ms(),
            p99_ms: recent.p99_ms(),
        };
        recent.clear();
        reading
    }

    pub(super) fn completed(&self, took: Duration) {
        self.completed.fetch_add(1, Ordering::Relaxed);
        self.recent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .record(took);
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }
}
