//! The introduction of a peer: it counts as a peer of our network once it has named the network and subscribed to the topics.

use std::net::SocketAddr;
use std::time::Instant;

use libp2p_identify as identify;

use super::codec::Question;
use super::peers::words;
use super::service::Service;
use super::wire::socket_address;
use super::{Direction, GossipEvent, GossipRefusal, PeerId, Topic};

impl Service {
    pub(super) fn identified(&mut self, peer: &libp2p_identity::PeerId, info: &identify::Info) {
        let Some(id) = PeerId::of(peer) else { return };
        if let Err(other) = self.names.same_network(&info.protocol_version) {
            self.refuse(id, &GossipRefusal::OtherNetwork(other));
            return;
        }
        let mut peers = self.shared.peers();
        let Some(known) = peers.get_mut(&id) else {
            return;
        };
        known.is_identified = true;
        known.software = words(&info.agent_version);
        let first = known.connections.first();
        let inbound = first.filter(|first| first.direction == Direction::Inbound);
        if let Some(inbound) = inbound {
            // Where it listens is its own word only as far as the port goes.
            let told = info.listen_addrs.iter().filter_map(socket_address);
            let port = told.map(|address| address.port()).find(|port| *port != 0);
            known.address = port.map(|port| SocketAddr::new(inbound.remote.ip(), port));
        }
        drop(peers);
        self.announce_if_ready(id);
    }

    /// Announces a peer to the application once its introduction is complete.
    pub(super) fn announce_if_ready(&mut self, id: PeerId) {
        let now = Instant::now();
        let mut peers = self.shared.peers();
        let Some(known) = peers.get_mut(&id) else {
            return;
        };
        let Some(first) = known.connections.first() else {
            return;
        };
        if known.announced.is_some() || !known.is_ready() || known.is_banned(now) {
            return;
        }
        known.announced = Some(now);
        known.reason = None;
        // A peer without an address of its own is shown at its end of the connection.
        let address = known.address.unwrap_or(first.remote);
        drop(peers);
        self.book.proved(id);
        self.count_peers();
        self.outlet
            .push(GossipEvent::Connected { peer: id, address });
        self.ask(id, Question::Addresses, None);
    }

    /// Notes that a peer speaks a protocol of our network, which proves its network before it names it.
    pub(super) fn speaks(&mut self, id: PeerId) {
        let mut peers = self.shared.peers();
        let Some(known) = peers.get_mut(&id) else {
            return;
        };
        if known.announced.is_some() {
            return;
        }
        known.is_identified = true;
        known.is_subscribed = [true; Topic::ALL.len()];
        drop(peers);
        self.announce_if_ready(id);
    }

    pub(super) fn count_peers(&self) {
        let peers = self.shared.peers();
        let ready = peers.iter().filter(|(_, peer)| peer.announced.is_some());
        self.shared.counters.peers.set(ready.count());
    }

    pub(super) fn subscribed(&mut self, peer: &libp2p_identity::PeerId, topic: &str, is: bool) {
        let (Some(id), Some(topic)) = (PeerId::of(peer), self.names.topic_of(topic)) else {
            return;
        };
        if let Some(known) = self.shared.peers().get_mut(&id) {
            known.is_subscribed[topic.index()] = is;
        }
        self.announce_if_ready(id);
    }
}
