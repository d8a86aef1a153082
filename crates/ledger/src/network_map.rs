//! The network map: the nodes and the rules of the network.

use std::collections::BTreeMap;

use primitives::{Hash, PublicKey};

use crate::limits::NODES_MAX;
use crate::{LegalName, NetworkParameters, NetworkRules, NodeInfo, Party, PartyId};

/// The nodes of a network and its parameters, as known at one moment. Only from documents that were checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkMap {
    parameters: NetworkParameters,
    nodes: BTreeMap<PartyId, NodeInfo>,
    by_key: BTreeMap<PublicKey, PartyId>,
    /// The workers of each replicated notary.
    services: BTreeMap<PartyId, Vec<PartyId>>,
    rules: NetworkRules,
    parameters_hash: Hash,
}

impl NetworkMap {
    /// Makes a map. For each party the node info with the greatest serial counts; nodes beyond 100,000 are left out.
    pub fn new(parameters: NetworkParameters, infos: impl IntoIterator<Item = NodeInfo>) -> Self {
        let mut nodes: BTreeMap<PartyId, NodeInfo> = BTreeMap::new();
        for info in infos {
            let id = info.party.id();
            let newer = nodes
                .get(&id)
                .is_none_or(|known| known.serial < info.serial);
            if newer && (nodes.len() < NODES_MAX || nodes.contains_key(&id)) {
                nodes.insert(id, info);
            }
        }
        let by_key = nodes
            .iter()
            .map(|(id, info)| (info.party.key.clone(), *id))
            .collect();
        let mut services: BTreeMap<PartyId, Vec<PartyId>> = BTreeMap::new();
        for (id, info) in &nodes {
            let notary = info.notary.as_ref();
            let service = notary.and_then(|notary| notary.service.as_ref());
            // The name alone does not make a notary.
            if let Some(service) = service.filter(|one| parameters.notaries.contains(one)) {
                services.entry(service.id()).or_default().push(*id);
            }
        }
        let rules = NetworkRules::from(&parameters);
        let parameters_hash = parameters.hash();
        Self {
            parameters,
            nodes,
            by_key,
            services,
            rules,
            parameters_hash,
        }
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &NetworkParameters {
        &self.parameters
    }

    /// Returns the hash that names the parameters in transactions.
    pub fn parameters_hash(&self) -> Hash {
        self.parameters_hash
    }

    /// Returns the parameters that verification needs.
    pub fn rules(&self) -> &NetworkRules {
        &self.rules
    }

    /// Returns all nodes.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (&PartyId, &NodeInfo)> {
        self.nodes.iter()
    }

    /// A node.
    pub fn node(&self, id: &PartyId) -> Option<&NodeInfo> {
        self.nodes.get(id)
    }

    /// A party, or a notary that the parameters name.
    pub fn party(&self, id: &PartyId) -> Option<&Party> {
        let listed = self.nodes.get(id).map(|info| &info.party);
        listed.or_else(|| {
            self.parameters
                .notaries
                .iter()
                .find(|notary| notary.id() == *id)
        })
    }

    /// Returns the replicated notaries with the nodes that work for them.
    pub fn services(&self) -> &BTreeMap<PartyId, Vec<PartyId>> {
        &self.services
    }

    /// Returns the notary for which a node decides: itself, or the service that it works for. `None` if it is no notary of this
    /// network.
    pub fn decides_for(&self, id: &PartyId) -> Option<PartyId> {
        if self.is_notary(id) {
            return Some(*id);
        }
        let mut services = self.services.iter();
        let service = services.find(|(_, workers)| workers.contains(id));
        service.map(|(service, _)| *service)
    }

    /// Returns the legal name of a party of the network, or else its id.
    pub fn name_of(&self, id: &PartyId) -> String {
        let party = self.party(id);
        party.map_or_else(|| id.to_string(), |party| party.name.to_string())
    }

    /// Returns a party by its name.
    pub fn by_name(&self, name: &LegalName) -> Option<&Party> {
        self.party(&name.party_id())
    }

    /// Returns the party that signs with a key.
    pub fn by_key(&self, key: &PublicKey) -> Option<&Party> {
        self.by_key.get(key).and_then(|id| self.party(id))
    }

    /// Returns a party's display title: its name, if its key is the one that the network map has for that name. Otherwise
    /// the key is added, since the maker of a state can write any name.
    pub fn title(&self, party: &Party) -> String {
        match self.by_name(&party.name) {
            Some(known) if known.key == party.key => party.name.to_string(),
            _ => format!("{} [unknown key {}]", party.name, party.key.to_text()),
        }
    }

    /// Returns the default notary, which is the first in the list of the network parameters.
    pub fn notary(&self) -> Option<&Party> {
        self.parameters.notaries.first()
    }

    /// Tells whether the party is a notary of this network.
    pub fn is_notary(&self, id: &PartyId) -> bool {
        self.parameters
            .notaries
            .iter()
            .any(|notary| notary.id() == *id)
    }
}
