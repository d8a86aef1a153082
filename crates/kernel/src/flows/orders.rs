//! The orders of operators about flows.

use flow::{FlowId, Stage};

/// Maximum number of flows that one order changes. The answer tells where to continue.
pub const ORDERED_FLOWS_MAX: usize = 1_000;

/// An operator's order about flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Retry parked flows, and those that wait for their next retry.
    Retry,
    /// Pause flows.
    Pause,
    /// Resume paused flows.
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
    /// The last flow that was looked at, if there are more: repeat the order from there.
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
