//! What each second gave, for whoever follows a load from afar: if the generator dies, everything up to then is known.

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::results::{Fault, Histogram, Second, WorkResult};

/// Seconds that wait for the reader at most; more are lost to it, though not to the stretch.
const SLICES_MAX: usize = 1_000;

/// A second in which something ended.
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

/// Where slices go.
#[derive(Clone, Debug)]
pub struct SliceSink {
    to: mpsc::Sender<Slice>,
}

impl SliceSink {
    /// A sink and what comes out of it.
    pub fn channel() -> (Self, mpsc::Receiver<Slice>) {
        let (to, slices) = mpsc::channel(SLICES_MAX);
        (Self { to }, slices)
    }

    pub(super) fn send(&self, slice: Slice) {
        // A reader that is so far behind is gone.
        let _ = self.to.try_send(slice);
    }
}
