//! The cost of each peer to this node, for operators.

use std::collections::BTreeMap;

use flow::PeerUsage;
use ledger::PartyId;
use notary::RequesterFigures;

use crate::kernel::Kernel;
use crate::peers::budget::PeerWork;

/// One peer that has been heard in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerFigures {
    /// The resources that live flows hold on its behalf.
    pub flows: PeerUsage,
    /// The work that its messages caused, and its garbage.
    pub work: PeerWork,
    /// Its requests to this notary, if this node is one that was asked.
    pub notary: Option<RequesterFigures>,
}

impl Kernel {
    /// Figures of every peer that has been heard in this run: members of the network.
    pub fn peer_figures(&self) -> BTreeMap<PartyId, PeerFigures> {
        let mut all: BTreeMap<PartyId, PeerFigures> = BTreeMap::new();
        for (peer, usage) in self.flows.engine().peer_usages() {
            all.entry(peer).or_default().flows = usage;
        }
        for (peer, work) in self.context.peer_work() {
            all.entry(peer).or_default().work = work;
        }
        if let Some(notarisation) = &self.notarisation {
            for (peer, figures) in notarisation.requesters() {
                all.entry(peer).or_default().notary = Some(figures);
            }
        }
        all.remove(&self.context.my_id);
        all
    }
}
