//! The flow that opens a lock at its time, which the contract schedules.

/// The registered name of the flow.
pub(crate) const NAME: &str = "cash.unlock";
