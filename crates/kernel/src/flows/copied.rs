//! The flows of an older copy: those that a proof has halted. What they are about to do may have happened in the lost course.
//!
//! # Invariants
//! - The mark of a flow is durable with its pause, and is deleted with its journal.

use std::collections::BTreeSet;

use flow::FlowId;

use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::{META_COPIED, meta_key, prefix_end};
use crate::writes::{Batch, RowRange, Writer};

/// The halted flows of an older copy. Bounded by the flows in the store.
#[derive(Debug, Default)]
pub(crate) struct CopiedFlows(BTreeSet<FlowId>);

impl Writer for CopiedFlows {
    const ROWS: &'static [RowRange] = &[RowRange::meta(META_COPIED)];
}

impl CopiedFlows {
    /// Reads the marks back.
    pub(super) fn load(reads: &dyn Reads) -> Result<Self, StoreFailure> {
        let to = prefix_end(META_COPIED);
        // One row a flow in the store.
        let rows = reads.scan(Table::Meta, META_COPIED, to.as_deref(), usize::MAX)?;
        let flows = rows.iter().map(|(key, _)| {
            let flow = key.get(META_COPIED.len()..);
            let flow = flow.and_then(|flow| flow.try_into().ok());
            flow.map(FlowId)
                .ok_or_else(|| damaged("the mark of a flow of an older copy"))
        });
        flows.collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn contains(&self, flow: &FlowId) -> bool {
        self.0.contains(flow)
    }

    /// Marks a flow.
    pub(super) fn mark(&mut self, flow: FlowId, batch: &mut Batch) {
        if self.0.insert(flow) {
            let key = meta_key(META_COPIED, flow.as_bytes());
            batch.of::<CopiedFlows>().put(Table::Meta, key, Vec::new());
        }
    }

    /// Removes the mark of a flow whose journal is deleted.
    pub(super) fn forget(&mut self, flow: &FlowId, batch: &mut Batch) {
        if self.0.remove(flow) {
            let key = meta_key(META_COPIED, flow.as_bytes());
            batch.of::<CopiedFlows>().delete(Table::Meta, key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::DAMAGED;
    use crate::fake_store::FakeStore;

    #[test]
    fn marks_outlast_a_restart_and_end_with_the_flow() {
        let mut store = FakeStore::default();
        let mut copied = CopiedFlows::load(&store).expect("an empty store");
        let flows = [FlowId([1; 16]), FlowId([2; 16])];
        let mut batch = Batch::default();
        flows.iter().for_each(|flow| copied.mark(*flow, &mut batch));
        store.apply(batch);
        let mut again = CopiedFlows::load(&store).expect("rows of two flows");
        let mut batch = Batch::default();
        again.forget(&flows[0], &mut batch);
        assert_eq!(flows.map(|flow| again.contains(&flow)), [false, true]);
        store.apply(batch);
        let last = CopiedFlows::load(&store).expect("a row of one flow");
        assert_eq!(flows.map(|flow| last.contains(&flow)), [false, true]);
        store.put(Table::Meta, &meta_key(META_COPIED, &[1; 3]), &[]);
        let refused = CopiedFlows::load(&store).err();
        assert_eq!(refused.map(|failure| failure.code), Some(DAMAGED.code));
    }
}
