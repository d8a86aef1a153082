//! The events that reach every part of the kernel.

use primitives::Monotonic;

use crate::writes::Batch;

/// A part of the kernel: a type with state of its own that events of the whole kernel concern.
pub(crate) trait Part {
    /// Notes that every commit up to this number is durable.
    fn committed(&mut self, _upto: u64, _now: Monotonic) {}

    /// Returns the time at which the part has work, if no event comes before. Work that waits for nothing is due `now`.
    fn next_time(&self, _now: Monotonic) -> Option<Monotonic> {
        None
    }

    /// Ends a round: adds rows that a round writes at most once, even if they changed several times in it.
    fn end_round(&mut self, _batch: &mut Batch) {}
}

/// A part that this node may have.
impl<P: Part> Part for Option<P> {
    fn committed(&mut self, upto: u64, now: Monotonic) {
        if let Some(part) = self {
            part.committed(upto, now);
        }
    }

    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        self.as_ref()?.next_time(now)
    }

    fn end_round(&mut self, batch: &mut Batch) {
        if let Some(part) = self {
            part.end_round(batch);
        }
    }
}
