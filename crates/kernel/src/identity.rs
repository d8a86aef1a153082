//! The identity of a node: its party, its keys, and the registries of its network, contracts and flows.

use std::sync::Arc;

use flow::FlowRegistry;
use ledger::{ContractRegistry, NetworkMap, Party};
use primitives::KeyPair;

/// The identity of a replicated notary. Each of its workers has it.
pub struct NotaryService {
    /// The party that transactions name as their notary.
    pub party: Party,
    /// Its key, which signs the batches.
    pub key: KeyPair,
}

/// The node's identity. It does not change while the node runs.
pub struct Identity {
    /// This node's party.
    pub me: Party,
    /// The keys it signs with; the party's own key among them.
    pub keys: Vec<KeyPair>,
    /// The replicated notary that this node works for, if it is a worker of one.
    pub service: Option<NotaryService>,
    /// Parameters and node infos.
    pub network: Arc<NetworkMap>,
    /// The contracts it can run.
    pub contracts: Arc<ContractRegistry>,
    /// The flows it can run.
    pub flows: Arc<FlowRegistry>,
}

impl Identity {
    /// Returns the party for which this node decides if it is a notary: itself, or the service that it works for.
    pub fn notary(&self) -> &Party {
        self.service
            .as_ref()
            .map_or(&self.me, |service| &service.party)
    }
}
