//! The network as people read it.

use api::{NetworkView, NotaryView, PartyView};
use ledger::{NetworkMap, NodeInfo, NotaryInfo};

/// The network map, readable; nodes in order of name.
pub fn network_view(map: &NetworkMap) -> NetworkView {
    let parameters = map.parameters();
    let mut nodes: Vec<PartyView> = map.nodes().map(|(_, info)| party_view(info)).collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    NetworkView {
        parameters: parameters.hash().to_string(),
        max_message_bytes: parameters.max_message_bytes,
        max_transaction_bytes: parameters.max_transaction_bytes,
        max_attachment_bytes: parameters.max_attachment_bytes,
        max_transaction_attachment_bytes: parameters.max_transaction_attachment_bytes,
        issued_at_ms: parameters.issued_at.as_ms(),
        notaries: parameters
            .notaries
            .iter()
            .map(ToString::to_string)
            .collect(),
        nodes,
    }
}

fn party_view(info: &NodeInfo) -> PartyView {
    PartyView {
        name: info.party.to_string(),
        party_id: info.party.id().to_string(),
        key: info.party.key.to_text(),
        addresses: info.addresses.clone(),
        notary: info.notary.as_ref().map(notary_view),
    }
}

/// A notary, readable.
pub(crate) fn notary_view(notary: &NotaryInfo) -> NotaryView {
    let service = notary.service.as_ref();
    NotaryView {
        validating: notary.validating,
        service: service.map(|service| service.name.to_string()),
    }
}
