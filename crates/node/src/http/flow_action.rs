//! An operator's order about flows.

/// An operator's order about flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowAction {
    /// Try kept flows again, and those that wait for their next try.
    Retry,
    /// Let flows take no step.
    Pause,
    /// Let paused flows go on.
    Resume,
    /// End flows.
    Kill,
}
