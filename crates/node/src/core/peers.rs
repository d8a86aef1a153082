//! The other nodes and the state of their connections.

use std::collections::BTreeMap;

use api::{PeerLoad, PeerView, PeersView};
use kernel::{PeerFigures, WaitReasons};
use ledger::{NetworkMap, PartyId};
use net::PeerStatus;

/// The software name and version that this node announces.
pub(super) const SOFTWARE: &str = concat!("tally/", env!("CARGO_PKG_VERSION"));

/// All peers, in order of name, with their load here and the number of deliveries that they cannot record at present.
pub(super) fn view(
    net: &net::Handle,
    network: &NetworkMap,
    figures: &BTreeMap<PartyId, PeerFigures>,
    reasons: &WaitReasons,
) -> PeersView {
    let mut waiting: BTreeMap<PartyId, u64> = BTreeMap::new();
    for (peer, _) in reasons.keys() {
        *waiting.entry(*peer).or_default() += 1;
    }
    let peers = net.peers().into_iter().map(|status| {
        let PeerStatus {
            peer,
            address,
            queued_bytes,
            software,
            clock_offset_ms,
            cut_off_for,
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
            load: figures.get(&peer).map(load),
            // A wait of minutes fits.
            cut_off_ms: cut_off_for.map(|left| left.as_millis() as u64),
            waiting_deliveries: waiting.get(&peer).copied().unwrap_or_default(),
        }
    });
    let mut peers: Vec<PeerView> = peers.collect();
    peers.sort_by(|a, b| a.name.cmp(&b.name));
    PeersView {
        software: SOFTWARE.to_owned(),
        peers,
    }
}

fn load(figures: &PeerFigures) -> PeerLoad {
    let PeerFigures { flows, work, .. } = figures;
    PeerLoad {
        responders: flows.responders as u64,
        held_bytes: (flows.bytes + work.backlog_bytes) as u64,
        journal_bytes: flows.journal_bytes as u64,
        refused: flows.refused,
        idle_ended: flows.idle_ended,
        deferred: work.deferred,
        dropped: work.dropped,
        garbage: work.garbage,
        cut_offs: work.cuts,
        slowed: work.slowed,
    }
}
