//! The progress of a preparation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counters that a preparation writes and any reader may read.
#[derive(Debug, Default)]
pub struct Preparation {
    done: AtomicU64,
    wanted: AtomicU64,
    step: Mutex<String>,
}

/// A reading of [`Preparation`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreparationReading {
    /// Its current step, for people; empty before the first step.
    pub step: String,
    /// Flows of this step that have ended.
    pub done: u64,
    /// The number of flows of this step.
    pub wanted: u64,
}

impl Preparation {
    /// Begins a new step with this many flows.
    pub fn begin(&self, step: &str, wanted: u64) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = step.to_owned();
        self.done.store(0, Ordering::Relaxed);
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    /// Counts a flow that has ended.
    pub fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the progress.
    pub fn read(&self) -> PreparationReading {
        PreparationReading {
            step: self
                .step
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            done: self.done.load(Ordering::Relaxed),
            wanted: self.wanted.load(Ordering::Relaxed),
        }
    }
}
