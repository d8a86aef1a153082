//! The other nodes, as the connections know them.

use api::{PeerView, PeersView};
use ledger::NetworkMap;
use net::PeerStatus;

/// What this node says that it is.
pub(super) const SOFTWARE: &str = concat!("tally/", env!("CARGO_PKG_VERSION"));

/// All peers, in order of name.
pub(super) fn view(net: &net::Handle, network: &NetworkMap) -> PeersView {
    let peers = net.peers().into_iter().map(|status| {
        let PeerStatus {
            peer,
            address,
            queued_bytes,
            software,
            clock_offset_ms,
        } = status;
        let party = network.party(&peer);
        PeerView {
            name: party.map_or_else(|| peer.to_string(), |party| party.name.to_string()),
            party_id: peer.to_string(),
            connected: address.is_some(),
            address: address.map(|address| address.to_string()),
            software,
            clock_offset_ms,
            queued_bytes: queued_bytes as u64,
        }
    });
    let mut peers: Vec<PeerView> = peers.collect();
    peers.sort_by(|a, b| a.name.cmp(&b.name));
    PeersView {
        software: SOFTWARE.to_owned(),
        peers,
    }
}
