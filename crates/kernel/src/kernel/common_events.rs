//! The list of the kernel's parts, and the events that all of them get.

use primitives::Monotonic;

use crate::kernel::Kernel;
use crate::part::Part;

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
    flows,
    selection,
    links,
    clock,
    intake,
    back_chains,
    notarisation,
    schedule,
    notes,
    keys,
    contradictions,
    files,
    context,
    // Writes the row of a new life if the round writes anything at all, so it is the last one.
    integrity,
];

impl Kernel {
    /// Tells all parts that every commit up to this number is durable.
    pub(super) fn parts_committed(&mut self, upto: u64) {
        let now = self.context.now.monotonic;
        self.parts_mut().for_each(|part| part.committed(upto, now));
    }

    /// Returns the first time at which a part has work.
    pub(super) fn parts_next_time(&self) -> Option<Monotonic> {
        let now = self.context.now.monotonic;
        self.parts().filter_map(|part| part.next_time(now)).min()
    }

    /// Ends the round of all parts.
    pub(super) fn parts_end_round(&mut self) {
        let mut batch = std::mem::take(&mut self.context.round.batch);
        self.parts_mut().for_each(|part| part.end_round(&mut batch));
        self.context.round.batch = batch;
    }
}
