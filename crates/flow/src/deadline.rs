//! How long a flow waits for a counterparty.

use primitives::Timestamp;

/// The time that a flow waits for a counterparty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Until a moment that follows from what the flow does, such as the end of a transaction's time window. A jump of the wall clock
    /// never makes this wait shorter.
    At(Timestamp),
    /// After this many milliseconds. The journal keeps the end, so a restart of this node or of the flow does not start the wait
    /// again. After a start of the node, however, the counterparty has at least a minute, or the whole time if that is shorter.
    AfterMs(u64),
}
