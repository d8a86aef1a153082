//! The other nodes and the state of their connections.

use std::collections::BTreeMap;

use api::{PeerEventKind, PeerEventView, PeerHistory, PeerLoad, PeerView, PeersView};
use kernel::{PeerFigures, WaitReasons};
use ledger::{NetworkMap, PartyId};
use net::{ConnectionEvent, PeerEvent, PeerStatus};

/// The software name and version that this node announces.
pub(super) const SOFTWARE: &str = concat!("tally/", env!("CARGO_PKG_VERSION"));

/// All peers, in order of name, with their load here and the deliveries that they have not answered.
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
        let figures = figures.get(&peer);
        PeerView {
            name: network.name_of(&peer),
            party_id: peer.to_string(),
            connected: address.is_some(),
            address: address.map(|address| address.to_string()),
            software,
            clock_offset_ms,
            queued_bytes: queued_bytes as u64,
            load: figures.map(load),
            // A wait of minutes fits.
            cut_off_ms: cut_off_for.map(|left| left.as_millis() as u64),
            pending_deliveries: figures.map_or(0, |figures| figures.undelivered),
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

/// The last events of the connections with a peer, or with all peers, newest first.
pub(super) fn history(
    net: &net::Handle,
    network: &NetworkMap,
    peer: Option<&PartyId>,
    limit: usize,
) -> PeerHistory {
    let of_peer = net.history(peer).into_iter().flat_map(|(id, events)| {
        let name = network.name_of(&id);
        // The newest of each peer first, so that equal times keep this order.
        let events = events.into_iter().rev();
        events.map(move |event| event_view(&name, &id, event))
    });
    let mut events: Vec<PeerEventView> = of_peer.collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.last_ms));
    events.truncate(limit);
    PeerHistory { events }
}

fn event_view(name: &str, id: &PartyId, event: PeerEvent) -> PeerEventView {
    let told = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    PeerEventView {
        at_ms: event.at_ms,
        peer: name.to_owned(),
        party_id: id.to_string(),
        event: match event.kind {
            ConnectionEvent::Connected => PeerEventKind::Connected,
            ConnectionEvent::Disconnected => PeerEventKind::Disconnected,
            ConnectionEvent::NotReached => PeerEventKind::NotReached,
            ConnectionEvent::CutOff => PeerEventKind::CutOff,
        },
        count: event.count,
        last_ms: event.last_ms,
        address: event.address.map(|address| address.to_string()),
        code: told(event.code),
        message: told(&event.reason),
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
