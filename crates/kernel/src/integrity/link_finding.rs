//! A contradiction about the messages of a link.

use primitives::Timestamp;

/// A contradiction between this node's numbers and a peer's, by the peer's word alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFinding {
    /// The time at which the peer connected.
    pub at: Timestamp,
    /// The contradiction.
    pub text: String,
}
