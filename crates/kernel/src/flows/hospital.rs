//! Flows that take no step: the times of further attempts, and the orders of operators.
//!
//! A flow that was set aside comes back from its journal alone, so its journal is read only when all its rows are durable. Until
//! then the order waits. The states that it locked stay locked, and its journal names them.

use std::collections::{BTreeMap, BTreeSet};

use flow::FlowId;
use primitives::Monotonic;

use crate::part::Part;

/// The flows that are set aside, with the orders about them. Bounded by their number.
#[derive(Debug, Default)]
pub(crate) struct Hospital {
    /// When flows are tried again.
    pub(super) due: BTreeSet<(Monotonic, FlowId)>,
    pub(super) at: BTreeMap<FlowId, Monotonic>,
    /// Flows that are to come back.
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

    /// Flows that are to come back.
    pub(crate) fn wanted(&self) -> usize {
        self.wanted.len()
    }

    pub(super) fn forget_time(&mut self, flow: &FlowId) {
        if let Some(at) = self.at.remove(flow) {
            self.due.remove(&(at, *flow));
        }
    }

    /// Notes that a flow is to come back, even before the time of its next attempt.
    pub(super) fn want(&mut self, flow: FlowId) {
        self.forget_time(&flow);
        self.wanted.insert(flow);
    }

    /// A flow runs again, or is gone.
    pub(super) fn dismiss(&mut self, flow: &FlowId) {
        self.forget_time(flow);
        self.wanted.remove(flow);
        self.rows_in.remove(flow);
        self.kept.remove(flow);
        self.paused.remove(flow);
    }

    /// Notes that a flow waits to come back. From now on, the commits that write its rows are noted.
    pub(super) fn shelve(&mut self, flow: FlowId) {
        self.rows_in.insert(flow, 0);
    }

    /// A row of a flow is written by this commit.
    pub(super) fn row_written(&mut self, flow: &FlowId, number: u64) {
        if let Some(last) = self.rows_in.get_mut(flow) {
            *last = number;
        }
    }
}
