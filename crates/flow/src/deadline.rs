//! How long a flow waits for a counterparty.

use primitives::Timestamp;

/// The time that a flow waits for a counterparty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Until a moment that follows from what the flow does, such as the end of a transaction's time window. A jump of the wall clock
    /// never makes this wait shorter.
    At(Timestamp),
    /// For this many milliseconds. After a restart of this node the counterparty has the whole time again.
    AfterMs(u64),
}
