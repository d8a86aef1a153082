//! Who there is: a notary and two banks, with keys made from nothing but their numbers.

use std::sync::Arc;

use flow::FlowRegistry;
use kernel::Identity;
use ledger::{
    ContractRegistry, LegalName, NetworkMap, NetworkParameters, NodeInfo, NotaryInfo, Party,
    PartyId,
};
use primitives::{KeyPair, Scheme, Timestamp};

use crate::converse::{Converse, Echo};

/// The notary's place among the nodes.
pub const NOTARY: usize = 0;
/// Nodes, the notary among them.
pub const NODES: usize = 3;
/// The banks' places.
pub const BANKS: [usize; 2] = [1, 2];
/// How the nodes are called in a trace.
pub const SHORT: [&str; NODES] = ["notary", "bank-a", "bank-b"];

/// When the world begins, in ms since the Unix epoch.
pub const BEGINNING_MS: u64 = 1_700_000_000_000;

/// See the module.
pub struct Town {
    pub parties: [Party; NODES],
    pub ids: [PartyId; NODES],
    network: Arc<NetworkMap>,
    contracts: Arc<ContractRegistry>,
    pub flows: Arc<FlowRegistry>,
    /// Whether the notary validates.
    pub validating: bool,
}

fn key(node: usize) -> KeyPair {
    KeyPair::from_seed(Scheme::Ed25519, [node as u8 + 1; 32])
}

impl Town {
    pub fn new(validating: bool) -> Self {
        let parties = [0, 1, 2].map(|node: usize| {
            let name = ["Notary", "Bank A", "Bank B"][node];
            let name = LegalName::new(name, "London", "GB").expect("a legal name");
            Party::new(name, key(node).public().clone())
        });
        let infos = parties.iter().enumerate().map(|(node, party)| NodeInfo {
            party: party.clone(),
            addresses: vec!["localhost:1".to_owned()],
            platform_version: 1,
            serial: 1,
            notary: (node == NOTARY).then_some(NotaryInfo { validating }),
        });
        let notaries = vec![parties[NOTARY].clone()];
        let parameters = NetworkParameters::new(notaries, Timestamp::from_ms(1));
        let network = Arc::new(NetworkMap::new(parameters, infos));
        let mut contracts = ContractRegistry::new();
        finance::register_contracts(&mut contracts).expect("the built-in contracts");
        let mut flows = FlowRegistry::new();
        flow::transitions::register_flows(&mut flows);
        finance::register_flows(&mut flows);
        flows.register::<Converse>();
        flows.register_responder::<Echo>();
        Self {
            ids: [0, 1, 2].map(|node: usize| parties[node].id()),
            parties,
            network,
            contracts: Arc::new(contracts),
            flows: Arc::new(flows),
            validating,
        }
    }

    /// What a node's kernel is opened with.
    pub fn identity(&self, node: usize) -> Identity {
        Identity {
            me: self.parties[node].clone(),
            keys: vec![key(node)],
            network: Arc::clone(&self.network),
            contracts: Arc::clone(&self.contracts),
            flows: Arc::clone(&self.flows),
        }
    }

    pub fn contracts(&self) -> &ContractRegistry {
        &self.contracts
    }

    /// The node of a party.
    pub fn node_of(&self, party: &PartyId) -> Option<usize> {
        self.ids.iter().position(|id| id == party)
    }
}
