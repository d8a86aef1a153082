//! The cost of each peer to this node, for operators.

use flow::PeerUsage;
use notary::RequesterFigures;

use crate::peers::budget::PeerWork;

/// One peer that has been heard in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerFigures {
    /// The resources that live flows hold on its behalf.
    pub flows: PeerUsage,
    /// The work that its messages caused, and its invalid input.
    pub work: PeerWork,
    /// Its requests to this notary, if this node is one that was asked.
    pub notary: Option<RequesterFigures>,
}
