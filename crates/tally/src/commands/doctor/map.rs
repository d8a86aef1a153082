//! The network map that a node runs on, compared with the one in its folder.

use api::{NetworkView, NotaryView};
use ledger::NetworkMap;

use super::finding::Finding;

/// Returns whether a running node has other parameters or nodes than its folder: it was started before they changed.
pub fn is_outdated(network: &NetworkView, folder: &NetworkMap) -> bool {
    let differs = |view: &api::PartyView| {
        let mut known = folder.nodes();
        let info = known.find(|(id, _)| id.to_string() == view.party_id);
        info.is_none_or(|(_, info)| {
            let notary = info.notary.as_ref().map(|notary| NotaryView {
                validating: notary.validating,
                service: notary.service.as_ref().map(|one| one.name.to_string()),
            });
            info.addresses != view.addresses || notary != view.notary
        })
    };
    network.parameters != folder.parameters_hash().to_string()
        || network.nodes.len() != folder.nodes().len()
        || network.nodes.iter().any(differs)
}

/// Checks that a running node has the network map of its folder.
pub fn check(network: &NetworkView, folder: &NetworkMap) -> Finding {
    const CHECK: &str = "network map";
    let (runs_on, has) = (network.nodes.len(), folder.nodes().len());
    if !is_outdated(network, folder) {
        return Finding::ok(CHECK, format!("{has} nodes, as in the folder"));
    }
    let found = match runs_on == has {
        true => "the node runs with other parameters or nodes than its folder has".to_owned(),
        false => format!("the node runs with {runs_on} nodes, and its folder has {has}"),
    };
    Finding::warning(
        CHECK,
        found,
        "Restart the node: it reads the network map at its start, and refuses connections of nodes that were added since.",
    )
}
