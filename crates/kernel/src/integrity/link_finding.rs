//! A contradiction about the messages of a link.

use primitives::{Timestamp, record};

/// A contradiction between this node's numbers and a peer's, by the peer's word alone. It is kept over restarts until an operator
/// finishes a recovery: until then the peer's marks do not vouch for this node's data, because a copy justifies an older mark too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFinding {
    /// The time at which the peer connected.
    pub at: Timestamp,
    /// The contradiction.
    pub text: String,
}

record!(LinkFinding { at, text });
