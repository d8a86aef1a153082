//! Per-second results for a remote reader: if the generator dies, everything up to then is known.

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::results::{Fault, Histogram, Second, WorkResult};

/// Upper limit on seconds waiting for the reader. Further ones are lost to it, but not to the stretch.
const SLICES_MAX: usize = 1_000;

/// The results of a second with at least one ended unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Its row of the series.
    pub second: Second,
    /// Latencies of the units completed in it.
    pub latencies: Histogram,
    /// Kinds of work so far, if there are several.
    pub works: Vec<WorkResult>,
    /// Failures so far.
    pub faults: Vec<Fault>,
    /// Tries beyond the first so far.
    pub retries: u64,
    /// Late starts so far.
    pub late: u64,
    /// Units never started so far, because too many were outstanding.
    #[serde(default)]
    pub dropped: u64,
}

/// The destination of slices.
#[derive(Clone, Debug)]
pub struct SliceSink {
    to: mpsc::Sender<Slice>,
}

impl SliceSink {
    /// Creates a sink and the receiver of its slices.
    pub fn channel() -> (Self, mpsc::Receiver<Slice>) {
        let (to, slices) = mpsc::channel(SLICES_MAX);
        (Self { to }, slices)
    }

    pub(super) fn send(&self, slice: Slice) {
        // Ignore the error: a reader that is so far behind is gone.
        let _ = self.to.try_send(slice);
    }
}
