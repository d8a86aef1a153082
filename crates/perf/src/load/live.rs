//! Counters for a progress bar while a load runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counters that the engine writes and any reader may read.
#[derive(Debug, Default)]
pub struct Live {
    completed: AtomicU64,
    failed: AtomicU64,
    outstanding: AtomicU64,
    /// Median and 99th percentile of the last whole second, in milliseconds.
    second: Mutex<(f64, f64)>,
}

/// A reading of [`Live`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveReading {
    /// Completed since the load began.
    pub completed: u64,
    /// Failed since the load began.
    pub failed: u64,
    /// Median latency of the last whole second, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile of the last whole second, in milliseconds.
    pub p99_ms: f64,
    /// Units outstanding, if the driver reports them.
    pub outstanding: u64,
}

impl Live {
    /// Returns the counters now.
    pub fn read(&self) -> LiveReading {
        let (p50_ms, p99_ms) = *self.second.lock().unwrap_or_else(PoisonError::into_inner);
        LiveReading {
            completed: self.completed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            p50_ms,
            p99_ms,
            outstanding: self.outstanding.load(Ordering::Relaxed),
        }
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
        *self.second.lock().unwrap_or_else(PoisonError::into_inner) = (p50_ms, p99_ms);
    }
}
