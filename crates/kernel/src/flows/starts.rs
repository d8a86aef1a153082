//! The starts that wait for a place, and the drain of the node.

use primitives::Monotonic;

use crate::flows::admission::{Admission, Weight};
use crate::flows::queue::StartQueue;
use crate::part::Part;

/// Between two looks whether starts still have to wait for peers, in milliseconds.
const LOOK_AGAIN_MS: u64 = 500;

/// Starts that wait, and whether the node drains.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    pub(crate) queue: StartQueue,
    pub(crate) admission: Admission,
    pub(super) draining: bool,
    pub(super) drained: bool,
    pub(super) may_run: bool,
}

impl Part for Starts {
    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        if self.has_runnable() {
            return Some(now);
        }
        // The peer that delays starts may have become silent.
        (self.admission.is_held_up() && self.queue.len() > 0)
            .then(|| now.plus_ms(LOOK_AGAIN_MS))
            .flatten()
    }
}

impl Starts {
    pub(crate) fn drain(&mut self) {
        self.draining = true;
    }

    /// Returns whether the drain is complete and not yet reported. `live` is the number of flows that have not ended.
    pub(crate) fn is_drained(&self, live: usize) -> bool {
        self.draining && !self.drained && live == 0 && self.queue.len() == 0
    }

    /// Returns whether the drain was reported as complete. After that no flow may begin to run.
    pub(super) fn is_drained_for_good(&self) -> bool {
        self.drained
    }

    pub(super) fn drain_reported(&mut self) {
        self.drained = true;
    }

    fn has_runnable(&self) -> bool {
        self.may_run && self.queue.len() > 0 && !self.admission.is_held_up()
    }

    /// Frees the place of a flow.
    pub(super) fn free_place(&mut self, weight: Weight, now: Monotonic) {
        self.admission.free(weight, now);
        self.may_run = true;
    }
}
