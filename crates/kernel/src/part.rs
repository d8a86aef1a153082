//! The events that reach every part of the kernel, and the list of parts that get them.

use flow::FlowEngine;
use primitives::Monotonic;
use vault::Selection;

use crate::kernel::Kernel;
use crate::writes::Batch;

/// A part of the kernel: a type with state of its own that events of the whole kernel concern.
pub(crate) trait Part {
    /// Notes that every commit up to this number is durable.
    fn committed(&mut self, _upto: u64, _now: Monotonic) {}

    /// Returns the time at which the part has work, if no event comes before. Work that waits for nothing is due `now`.
    fn next_time(&self, _now: Monotonic) -> Option<Monotonic> {
        None
    }

    /// Ends a round: adds the rows that are written once a round, however often they changed in it.
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

impl Part for FlowEngine {
    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        self.next_idle()
    }
}

impl Part for Selection {
    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        self.next_deadline()
    }
}

/// Lists the fields of the kernel that are parts. Rounds end in this order.
macro_rules! parts {
    ($($field:ident),* $(,)?) => {
        impl Kernel {
            fn parts(&self) -> impl Iterator<Item = &dyn Part> {
                [$(&self.$field as &dyn Part),*].into_iter()
            }

            fn parts_mut(&mut self) -> impl Iterator<Item = &mut dyn Part> {
                [$(&mut self.$field as &mut dyn Part),*].into_iter()
            }
        }
    };
}

parts![
    engine,
    selection,
    links,
    clock_watch,
    intake,
    fetches,
    notarisation,
    clients,
    starts,
    waits,
    hospital,
    schedule,
    notes,
    claims,
    key_book,
    consumed,
    proposals,
    files,
    budgets,
    // Writes the row of a new life if the round writes anything at all, so it is the last one.
    integrity,
];

impl Kernel {
    /// Tells all parts that every commit up to this number is durable.
    pub(crate) fn parts_committed(&mut self, upto: u64) {
        let now = self.now.monotonic;
        self.parts_mut().for_each(|part| part.committed(upto, now));
    }

    /// Returns the first time at which a part has work.
    pub(crate) fn parts_next_time(&self) -> Option<Monotonic> {
        let now = self.now.monotonic;
        self.parts().filter_map(|part| part.next_time(now)).min()
    }

    /// Ends the round of all parts.
    pub(crate) fn parts_end_round(&mut self) {
        let mut batch = std::mem::take(&mut self.round.batch);
        self.parts_mut().for_each(|part| part.end_round(&mut batch));
        self.round.batch = batch;
    }
}
