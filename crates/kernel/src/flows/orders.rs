//! The orders of operators about flows.

use flow::{FlowId, Stage};

/// Most flows that one order changes; the answer says where to go on.
pub const ORDERED_FLOWS_MAX: usize = 1_000;

/// An operator's order about flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Try kept flows again, and those that wait for their next try.
    Retry,
    /// Let flows take no step.
    Pause,
    /// Let paused flows go on.
    Resume,
    /// End flows.
    Kill,
}

/// The result of an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ordered {
    /// Flows that met the filter and that the order is for.
    pub matched: u64,
    /// Number of matched flows that the order was carried out for. 0 in a dry run.
    pub done: u64,
    /// Number of matched flows that wait for an answer that cannot be given up. They follow the order after it.
    pub waiting: u64,
    /// The first matched flows, as a sample.
    pub flows: Vec<FlowId>,
    /// There are more after this one: order again from there.
    pub next: Option<FlowId>,
}

/// Returns whether an order is for flows in a stage.
pub(super) fn is_for(order: Order, stage: &Stage) -> bool {
    match order {
        Order::Retry => matches!(stage, Stage::Parked { .. } | Stage::Retrying { .. }),
        Order::Pause => matches!(stage, Stage::Running { .. } | Stage::Retrying { .. }),
        Order::Resume => matches!(stage, Stage::Paused | Stage::Loaded),
        Order::Kill => true,
    }
}
