//! The members of the simulated network: two notaries, two banks and an exchange, with keys derived from their numbers.

use std::sync::Arc;

use flow::FlowRegistry;
use kernel::Identity;
use ledger::{
    ContractRegistry, LegalName, NetworkMap, NetworkParameters, NodeInfo, NotaryInfo, Party,
    PartyId,
};
use primitives::{Hash, KeyPair, Scheme, Timestamp};

/// Index of the default notary.
pub const NOTARY: usize = 0;
/// Index of the other notary, to which states are moved.
pub const OTHER_NOTARY: usize = 3;
/// Number of nodes, including the notaries.
pub const NODES: usize = 5;
/// Index of the exchange, which settles swaps between the banks and holds no cash in ordinary flows.
pub const EXCHANGE: usize = 4;
/// Indices of the banks.
pub const BANKS: [usize; 2] = [1, 2];
/// Names of the nodes in a trace.
pub const SHORT: [&str; NODES] = ["notary", "bank-a", "bank-b", "notary-2", "exchange"];

/// Start of the simulated time, in ms since the Unix epoch.
pub const BEGINNING_MS: u64 = 1_700_000_000_000;

/// The members, their network map, contracts and flows.
pub struct Membership {
    pub parties: [Party; NODES],
    pub ids: [PartyId; NODES],
    network: Arc<NetworkMap>,
    contracts: Arc<ContractRegistry>,
    pub flows: Arc<FlowRegistry>,
    /// Whether the notaries validate.
    pub validating: bool,
}

/// Returns the identity key of a node.
pub(crate) fn key(node: usize) -> KeyPair {
    KeyPair::from_seed(Scheme::Ed25519, [node as u8 + 1; 32])
}

/// Returns whether a node is a notary.
pub fn is_notary(node: usize) -> bool {
    [NOTARY, OTHER_NOTARY].contains(&node)
}

/// Returns all pairs of nodes.
pub fn pairs() -> Vec<(usize, usize)> {
    let all = (0..NODES).flat_map(|high| (0..high).map(move |low| (low, high)));
    all.collect()
}

impl Membership {
    /// Returns the network of these members. All of them run the same flows.
    pub fn new(validating: bool, flows: FlowRegistry) -> Self {
        let parties = [0, 1, 2, 3, 4].map(|node: usize| {
            let name = ["Notary", "Bank A", "Bank B", "Notary 2", "Exchange"][node];
            let name = LegalName::new(name, "London", "GB").expect("a legal name");
            Party::new(name, key(node).public().clone())
        });
        let infos = parties.iter().enumerate().map(|(node, party)| NodeInfo {
            party: party.clone(),
            addresses: vec!["localhost:1".to_owned()],
            platform_version: 1,
            serial: 1,
            notary: is_notary(node).then(|| NotaryInfo::single(validating)),
        });
        let notaries = [NOTARY, OTHER_NOTARY]
            .map(|node| parties[node].clone())
            .to_vec();
        let parameters = NetworkParameters::new(notaries, Timestamp::from_ms(1));
        let network = Arc::new(NetworkMap::new(parameters, infos));
        let mut contracts = ContractRegistry::new();
        finance::register_contracts(&mut contracts).expect("the built-in contracts");
        Self {
            ids: [0, 1, 2, 3, 4].map(|node: usize| parties[node].id()),
            parties,
            network,
            contracts: Arc::new(contracts),
            flows: Arc::new(flows),
            validating,
        }
    }

    /// Returns the identity that a node's kernel is opened with.
    pub fn identity(&self, node: usize) -> Identity {
        Identity {
            me: self.parties[node].clone(),
            keys: vec![key(node)],
            service: None,
            network: Arc::clone(&self.network),
            contracts: Arc::clone(&self.contracts),
            flows: Arc::clone(&self.flows),
        }
    }

    pub fn parameters_hash(&self) -> Hash {
        self.network.parameters_hash()
    }

    pub fn contracts(&self) -> &ContractRegistry {
        &self.contracts
    }

    /// Returns the node of a party.
    pub fn node_of(&self, party: &PartyId) -> Option<usize> {
        self.ids.iter().position(|id| id == party)
    }
}
