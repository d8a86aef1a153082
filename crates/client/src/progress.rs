//! The progress of a file on its way to a node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes sent so far, for progress displays. Cheap to clone; clones share one counter.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}
