//! Flows that are not running: the times of retries, and the orders of operators.
//!
//! Of a flow that was set aside only its journal is left. It is read only when all its rows are durable. Until then the order
//! waits. The states that it locked stay locked, and its journal names them.

use std::collections::{BTreeMap, BTreeSet};

use flow::FlowId;
use primitives::Monotonic;

use crate::part::Part;

/// The flows set aside, with the orders about them. Bounded by the number of such flows.
#[derive(Debug, Default)]
pub(crate) struct Hospital {
    /// The times of the next retries.
    pub(super) due: BTreeSet<(Monotonic, FlowId)>,
    pub(super) at: BTreeMap<FlowId, Monotonic>,
    /// Flows that are to be restored from their journals.
    pub(super) wanted: BTreeSet<FlowId>,
    /// The commit that holds the last row of each flow set aside.
    pub(super) rows_in: BTreeMap<FlowId, u64>,
    /// Kept flows that clients started.
    pub(super) kept: BTreeSet<FlowId>,
    pub(super) paused: BTreeSet<FlowId>,
}

impl Part for Hospital {
    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        self.due.first().map(|(at, _)| *at)
    }
}

impl Hospital {
    pub(super) fn retrying(&self) -> usize {
        self.at.len()
    }

    pub(crate) fn paused(&self) -> usize {
        self.paused.len()
    }

    /// Returns the number of flows that are to be restored.
    pub(crate) fn wanted(&self) -> usize {
        self.wanted.len()
    }

    pub(super) fn forget_time(&mut self, flow: &FlowId) {
        if let Some(at) = self.at.remove(flow) {
            self.due.remove(&(at, *flow));
        }
    }

    /// Notes that a flow is to be restored, even before the time of its next retry.
    pub(super) fn want(&mut self, flow: FlowId) {
        self.forget_time(&flow);
        self.wanted.insert(flow);
    }

    /// Forgets a flow that runs again or has ended.
    pub(super) fn dismiss(&mut self, flow: &FlowId) {
        self.forget_time(flow);
        self.wanted.remove(flow);
        self.rows_in.remove(flow);
        self.kept.remove(flow);
        self.paused.remove(flow);
    }

    /// Notes that a flow was set aside. From now on, the commits that write its rows are noted.
    pub(super) fn shelve(&mut self, flow: FlowId) {
        self.rows_in.insert(flow, 0);
    }

    /// Notes that commit `number` writes a row of a flow.
    pub(super) fn row_written(&mut self, flow: &FlowId, number: u64) {
        if let Some(last) = self.rows_in.get_mut(flow) {
            *last = number;
        }
    }
}
