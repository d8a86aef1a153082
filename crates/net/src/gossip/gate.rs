//! Admission of connections: room, the node's own bans, one connection for each peer. libp2p asks it before it sets
//! up anything else.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use libp2p_core::Endpoint;
use libp2p_core::Multiaddr;
use libp2p_core::transport::PortUse;
use libp2p_swarm::{
    ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, THandler, THandlerInEvent,
    THandlerOutEvent, ToSwarm, dummy,
};

use super::PeerId;
use super::error::GossipRefusal;
use super::network::Network;
use super::peers::PER_PEER_MAX;
use super::shared::Shared;
use super::slots::Slots;
use super::wire::socket_address;

/// Two nodes may dial each other at the same moment: so long a second connection is that, and not a restarted node.
const SAME_MOMENT: Duration = Duration::from_secs(3);

/// Decides which connections may be set up.
pub(super) struct Gate {
    shared: Arc<Shared>,
    /// Every inbound connection, in its handshake or standing, by where it comes from.
    from: HashMap<ConnectionId, IpAddr>,
    /// Inbound connections in their handshake.
    handshakes: usize,
}

impl Gate {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            from: HashMap::new(),
            handshakes: 0,
        }
    }

    fn knock(&mut self, remote: &Multiaddr) -> Result<IpAddr, GossipRefusal> {
        let limits = &self.shared.limits;
        let address = socket_address(remote)
            .ok_or_else(|| GossipRefusal::HandshakeFailed("it does not come by TCP".into()))?;
        let ip = block(address.ip());
        if self.handshakes >= limits.handshakes_max {
            return Err(GossipRefusal::TooMany("in their handshake"));
        }
        if self.from.values().filter(|other| **other == ip).count() >= limits.per_ip_max {
            return Err(GossipRefusal::TooMany("from its IP address"));
        }
        let slots = Slots::of(&self.shared.peers());
        slots
            .admit(limits, Network::of(address.ip()))
            .map_err(GossipRefusal::TooMany)?;
        Ok(ip)
    }

    /// A handshake has come to its end, good or bad.
    fn shook_hands(&mut self, connection: ConnectionId) {
        if self.from.contains_key(&connection) {
            self.handshakes = self.handshakes.saturating_sub(1);
        }
    }

    /// Judges a peer whose key is known now; `remote` is where it comes from if it dialled us.
    fn greet(
        &self,
        peer: &libp2p_identity::PeerId,
        remote: Option<&Multiaddr>,
    ) -> Result<(), GossipRefusal> {
        let id = PeerId::of(peer).ok_or(GossipRefusal::OtherKey)?;
        let now = Instant::now();
        let outbound = remote.is_none();
        let peers = self.shared.peers();
        let known = peers.get(&id);
        if known.is_some_and(|peer| peer.is_banned(now)) {
            return Err(GossipRefusal::Banned(id));
        }
        let standing = known.and_then(|peer| Some((peer, peer.connections.first()?)));
        let Some((peer, first)) = standing else {
            // An inbound place that was free when the peer connected may be taken now. An outbound place was
            // free when it was dialled.
            let network = remote.and_then(socket_address);
            return network.map_or(Ok(()), |address| {
                let slots = Slots::of(&peers);
                let admitted = slots.admit(&self.shared.limits, Network::of(address.ip()));
                admitted.map_err(GossipRefusal::TooMany)
            });
        };
        let same_moment = now.saturating_duration_since(first.since) < SAME_MOMENT;
        if outbound && peer.announced.is_some()
            || !same_moment
            || peer.connections.len() >= PER_PEER_MAX
        {
            return Err(GossipRefusal::Twice(id));
        }
        Ok(())
    }
}

/// Returns the address block of one host: the /64 network for IPv6, because every IPv6 host is given one.
fn block(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

impl NetworkBehaviour for Gate {
    type ConnectionHandler = dummy::ConnectionHandler;
    type ToSwarm = Infallible;

    fn handle_pending_inbound_connection(
        &mut self,
        id: ConnectionId,
        _: &Multiaddr,
        remote: &Multiaddr,
    ) -> Result<(), ConnectionDenied> {
        let ip = self.knock(remote).map_err(ConnectionDenied::new)?;
        self.from.insert(id, ip);
        self.handshakes += 1;
        Ok(())
    }

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        peer: libp2p_identity::PeerId,
        _: &Multiaddr,
        remote: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        self.greet(&peer, Some(remote))
            .map_err(ConnectionDenied::new)?;
        Ok(dummy::ConnectionHandler)
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        peer: libp2p_identity::PeerId,
        _: &Multiaddr,
        _: Endpoint,
        _: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        self.greet(&peer, None).map_err(ConnectionDenied::new)?;
        Ok(dummy::ConnectionHandler)
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        match event {
            FromSwarm::ConnectionEstablished(established) => {
                self.shook_hands(established.connection_id);
            }
            FromSwarm::ListenFailure(failure) => {
                self.shook_hands(failure.connection_id);
                self.from.remove(&failure.connection_id);
            }
            FromSwarm::ConnectionClosed(closed) => {
                self.from.remove(&closed.connection_id);
            }
            _ => {}
        }
    }

    fn on_connection_handler_event(
        &mut self,
        _: libp2p_identity::PeerId,
        _: ConnectionId,
        event: THandlerOutEvent<Self>,
    ) {
        match event {}
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<ToSwarm<Self::ToSwarm, THandlerInEvent<Self>>> {
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_is_one_block_of_addresses() {
        for (one, other, same) in [
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("10.0.0.1", "::ffff:10.0.0.1", true),
            ("2001:db8::1", "2001:db8::ffff:1", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            let [one, other] = [one, other].map(|ip| block(ip.parse().expect("an address")));
            assert_eq!(one == other, same, "{one} {other}");
        }
    }
}
