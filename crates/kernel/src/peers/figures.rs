//! The cost of each peer to this node, for operators.

use flow::PeerUsage;
use notary::RequesterFigures;

use crate::peers::budget::PeerWork;

/// One peer that has been heard in this run, or that has not answered for deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerFigures {
    /// The resources that live flows hold on its behalf.
    pub flows: PeerUsage,
    /// The work that its messages caused, and its invalid input.
    pub work: PeerWork,
    /// Deliveries that it has not answered.
    pub undelivered: u64,
    /// Its requests to this notary, if this node is one that was asked.
    pub notary: Option<RequesterFigures>,
}
