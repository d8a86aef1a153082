//! Handles libp2p's events about connections.

use std::net::SocketAddr;
use std::time::Instant;

use libp2p_core::ConnectedPoint;
use libp2p_swarm::{ConnectionId, DialError, ListenError, SwarmEvent};
use {libp2p_identify as identify, libp2p_ping as ping};

use super::behaviour::BehaviourEvent;
use super::conduct::DISMISSED_FOR;
use super::peers::{Connection, words};
use super::service::Service;
use super::wire::socket_address;
use super::{Direction, GossipEvent, GossipRefusal, PeerId};

impl Service {
    pub(super) fn on_event(&mut self, event: SwarmEvent<BehaviourEvent>) {
        match event {
            SwarmEvent::Behaviour(event) => self.on_behaviour(event),
            SwarmEvent::ConnectionEstablished {
                peer_id,
                connection_id,
                endpoint,
                ..
            } => self.connected(&peer_id, connection_id, &endpoint),
            SwarmEvent::ConnectionClosed {
                peer_id,
                connection_id,
                ..
            } => self.closed(&peer_id, connection_id),
            SwarmEvent::IncomingConnectionError {
                send_back_addr,
                error,
                ..
            } => self.not_accepted(socket_address(&send_back_addr), error),
            SwarmEvent::OutgoingConnectionError {
                connection_id,
                error,
                ..
            } => self.not_reached(connection_id, error),
            SwarmEvent::ListenerError { error, .. } => {
                tracing::warn!(
                    code = "gossip.accept_failed",
                    "a connection was not accepted: {error}"
                );
            }
            SwarmEvent::ListenerClosed { reason, .. } => {
                tracing::error!(
                    code = "gossip.accept_failed",
                    "no more connections are accepted: {reason:?}"
                );
            }
            _ => {}
        }
    }

    fn on_behaviour(&mut self, event: BehaviourEvent) {
        match event {
            BehaviourEvent::Gossip(event) => self.on_gossip(event),
            BehaviourEvent::Requests(event) => self.on_requests(event),
            BehaviourEvent::Identify(identify::Event::Received { peer_id, info, .. }) => {
                self.identified(&peer_id, &info);
            }
            BehaviourEvent::Identify(_) => {}
            BehaviourEvent::Ping(event) => self.pinged(&event),
            BehaviourEvent::Gate(never) => match never {},
        }
    }

    fn connected(
        &mut self,
        peer: &libp2p_identity::PeerId,
        connection: ConnectionId,
        point: &ConnectedPoint,
    ) {
        let (Some(id), Some(remote)) =
            (PeerId::of(peer), socket_address(point.get_remote_address()))
        else {
            // The gate admits only peers with an ed25519 key.
            return;
        };
        let now = Instant::now();
        let direction = match point {
            ConnectedPoint::Dialer { .. } => Direction::Outbound,
            ConnectedPoint::Listener { .. } => Direction::Inbound,
        };
        let wire = self.shared.wires.of(point);
        let mut peers = self.shared.peers();
        let known = peers.of(id, &self.options.limits, now);
        known.connections.push(Connection {
            id: connection,
            direction,
            remote,
            since: now,
            wire,
            looked_at: 0,
        });
        if direction == Direction::Outbound {
            known.address = Some(remote);
        }
        drop(peers);
        if let Some(address) = self.dials.remove(&connection) {
            self.book.reached(&address, id);
        }
    }

    fn closed(&mut self, peer: &libp2p_identity::PeerId, connection: ConnectionId) {
        let Some(id) = PeerId::of(peer) else { return };
        let now = Instant::now();
        let mut peers = self.shared.peers();
        let Some(known) = peers.get_mut(&id) else {
            return;
        };
        known.connections.retain(|own| own.id != connection);
        if !known.connections.is_empty() {
            return;
        }
        let (was_announced, address) = (known.announced.is_some(), known.address);
        let pause = match known.dismissed {
            true => DISMISSED_FOR,
            false => self.options.limits.back_off_min,
        };
        known.forget_connection();
        drop(peers);
        if was_announced {
            self.book.lost(id, now + pause);
            self.count_peers();
            self.outlet.push(GossipEvent::Disconnected { peer: id });
        } else if let Some(address) = address {
            // The address was reached, but the peer there is not useful.
            self.book.failed(&address, now);
        }
    }

    fn not_accepted(&mut self, from: Option<SocketAddr>, error: ListenError) {
        let refusal = match error {
            ListenError::Denied { cause } => match cause.downcast::<GossipRefusal>() {
                Ok(refusal) => refusal,
                Err(cause) => GossipRefusal::HandshakeFailed(cause.to_string()),
            },
            other => GossipRefusal::HandshakeFailed(words(&text(&other))),
        };
        if let GossipRefusal::Twice(peer) = refusal {
            // It would not dial if it knew of the connection that we have: that one is dead, and the next attempt gets in.
            self.disconnect(peer);
        }
        self.shared.counters.refused.add(1);
        let from = from.map_or_else(String::new, |from| from.to_string());
        self.log.refused(&from, &refusal);
    }

    fn not_reached(&mut self, connection: ConnectionId, error: DialError) {
        let Some(address) = self.dials.remove(&connection) else {
            return;
        };
        match error {
            DialError::LocalPeerId { .. } => self.book.is_own(&address),
            DialError::Denied { cause } => match cause.downcast::<GossipRefusal>() {
                Ok(GossipRefusal::Twice(peer)) => {
                    // The connection proves the peer at this address.
                    self.book.reached(&address, peer);
                    self.book.proved(peer);
                }
                Ok(refusal) => self.unreachable(&address, refusal.to_string()),
                Err(cause) => self.unreachable(&address, cause.to_string()),
            },
            other => self.unreachable(&address, words(&text(&other))),
        }
    }

    fn pinged(&mut self, event: &ping::Event) {
        let Some(id) = PeerId::of(&event.peer) else {
            return;
        };
        match &event.result {
            Ok(time) => {
                if let Some(known) = self.shared.peers().get_mut(&id) {
                    known.round_trip = Some(*time);
                }
            }
            Err(error) => {
                let refusal = GossipRefusal::Silent(error.to_string());
                self.log.refused(&id.to_string(), &refusal);
                self.swarm.close_connection(event.connection);
            }
        }
    }
}

/// An error with all that caused it, as libp2p nests them.
fn text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = inner.to_string();
        source = inner.source();
    }
    text
}
