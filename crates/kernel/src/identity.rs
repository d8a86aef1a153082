//! The identity of a node: its party, its keys, and the registries of its network, contracts and flows.

use std::sync::Arc;

use flow::FlowRegistry;
use ledger::{ContractRegistry, NetworkMap, Party};
use primitives::KeyPair;

/// The node's identity. It does not change while the node runs.
pub struct Identity {
    /// This node's party.
    pub me: Party,
    /// The keys it signs with; the party's own key among them.
    pub keys: Vec<KeyPair>,
    /// Parameters and node infos.
    pub network: Arc<NetworkMap>,
    /// The contracts it can run.
    pub contracts: Arc<ContractRegistry>,
    /// The flows it can run.
    pub flows: Arc<FlowRegistry>,
}
