//! Per-second results for a remote reader: if the generator dies, everything up to then is known.

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::results::{Fault, Histogram, Second, WorkResult};

/// Upper limit on seconds waiting for the reader. Further ones are lost to it, but not to the stretch.
const SLICES_MAX: usize = 1_000;

/// The results of a second, also if no unit ended in it.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::recorder::{Noted, Recorder};
    use super::*;
    use crate::load::Live;

    #[test]
    fn seconds_without_an_ended_unit_have_slices() {
        let (sink, mut slices) = SliceSink::channel();
        let labels = ["pay".to_owned()];
        let recorder = Recorder::new(&labels, Duration::from_secs(1), 0, None, Some(sink));
        for ended_ms in [500, 3_200] {
            let due = Duration::from_millis(ended_ms - 1);
            recorder.note(Noted {
                due,
                started: due,
                ended: Duration::from_millis(ended_ms),
                slot: 0,
                work: 0,
                retries: 0,
                outcome: Ok(()),
            });
        }
        recorder.finish(Duration::from_secs(5), 5_000, 7, &Live::default());
        let mut rows = Vec::new();
        while let Ok(slice) = slices.try_recv() {
            let second = slice.second;
            rows.push((second.at_ms, second.done, second.outstanding));
        }
        let expected = [
            (5_000, 1, 7),
            (6_000, 0, 7),
            (7_000, 0, 7),
            (8_000, 1, 7),
            (9_000, 0, 7),
        ];
        assert_eq!(rows, expected);
    }
}
