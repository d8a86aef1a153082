//! Counters and gauges of a shared record.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters since the start, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFigures {
    /// Batches that were entered or answered.
    pub batches: u64,
    /// States that were entered.
    pub states: u64,
    /// Round trips to the database.
    pub round_trips: u64,
    /// Time of all round trips, in microseconds.
    pub round_trips_us: u64,
    /// Batches with a key that existed already.
    pub duplicates: u64,
    /// Repetitions because another transaction was in the way.
    pub retries: u64,
    /// Connections that were lost with the outcome of a batch unknown.
    pub lost: u64,
    /// Batches whose requesters were asked to come again, because the database did not answer in time.
    pub unavailable: u64,
    /// The server of the present connection; empty without one.
    pub server: String,
}

/// The same while they change.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) batches: AtomicU64,
    pub(crate) states: AtomicU64,
    round_trips: AtomicU64,
    round_trips_us: AtomicU64,
    pub(crate) duplicates: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    server: Mutex<String>,
}

impl Counters {
    pub(crate) fn round_trip(&self, took: Duration) {
        add(&self.round_trips, 1);
        // Far fewer microseconds than 2^64.
        add(&self.round_trips_us, took.as_micros() as u64);
    }

    pub(crate) fn connected(&self, server: String) {
        *self
            .server
            .lock()
            .unwrap_or_else(|broken| broken.into_inner()) = server;
    }

    pub(crate) fn figures(&self) -> RecordFigures {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let server = self.server.lock();
        RecordFigures {
            batches: get(&self.batches),
            states: get(&self.states),
            round_trips: get(&self.round_trips),
            round_trips_us: get(&self.round_trips_us),
            duplicates: get(&self.duplicates),
            retries: get(&self.retries),
            lost: get(&self.lost),
            unavailable: get(&self.unavailable),
            server: server.unwrap_or_else(|broken| broken.into_inner()).clone(),
        }
    }
}

pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
