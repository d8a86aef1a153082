//! How long a flow waits for a counterparty.

use primitives::Timestamp;

/// The time that a flow waits for a counterparty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Until a moment that follows from what the flow does, such as the end of a transaction's time window. A jump of the wall clock
    /// never makes this wait shorter.
    At(Timestamp),
    /// For this many milliseconds. A restart of this node, or of the flow, does not begin the wait anew: the journal keeps its end.
    /// Only after a start of the node the counterparty has a minute at least, or the whole time if that is shorter.
    AfterMs(u64),
}
