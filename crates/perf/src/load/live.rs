//! Counters for a progress bar while a load runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::measure::Latencies;

/// Counters that the driver writes and any reader may read.
#[derive(Debug, Default)]
pub struct Live {
    completed: AtomicU64,
    failed: AtomicU64,
    outstanding: AtomicU64,
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    latencies: Latencies,
    /// Median and 99th percentile of the last whole second, if latencies arrive per second.
    second: Option<(f64, f64)>,
}

/// A reading of [`Live`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveReading {
    /// Completed since the load began.
    pub completed: u64,
    /// Failed since the load began.
    pub failed: u64,
    /// Median latency since the previous reading (of the last whole second under [`super::engine`]), in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile since the previous reading, in milliseconds.
    pub p99_ms: f64,
    /// Units outstanding, if the driver reports them.
    pub outstanding: u64,
}

impl Live {
    /// Returns the counters now, and resets the percentiles.
    pub fn read(&self) -> LiveReading {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let (p50_ms, p99_ms) = recent
            .second
            .unwrap_or_else(|| (recent.latencies.p50_ms(), recent.latencies.p99_ms()));
        recent.latencies.clear();
        LiveReading {
            completed: self.completed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            p50_ms,
            p99_ms,
            outstanding: self.outstanding.load(Ordering::Relaxed),
        }
    }

    pub(super) fn completed(&self, took: Duration) {
        self.completed.fetch_add(1, Ordering::Relaxed);
        self.recent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .latencies
            .record(took);
    }

    /// Counts a unit whose latency is reported with its second.
    pub(super) fn ended(&self, ok: bool) {
        let counter = if ok { &self.completed } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts units that ended elsewhere.
    pub(crate) fn add(&self, completed: u64, failed: u64) {
        self.completed.fetch_add(completed, Ordering::Relaxed);
        self.failed.fetch_add(failed, Ordering::Relaxed);
    }

    pub(crate) fn outstanding(&self, now: u64) {
        self.outstanding.store(now, Ordering::Relaxed);
    }

    /// Sets the percentiles of the last whole second.
    pub(crate) fn second(&self, p50_ms: f64, p99_ms: f64) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.second = Some((p50_ms, p99_ms));
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }
}
