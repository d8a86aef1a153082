//! Admission of connections: room, the node's own bans, one connection for each peer. libp2p asks it before it sets
//! up anything else.

use std::convert::Infallible;
use std::net::IpAddr;
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
use super::arrivals::Arrivals;
use super::error::GossipRefusal;
use super::network::Network;
use super::peers::PER_PEER_MAX;
use super::shared::GossipState;
use super::slots::Slots;
use super::wire::socket_address;

/// Time in which a second connection of a peer counts as simultaneous dialling. Later, it counts as a restart of the peer.
const SAME_MOMENT: Duration = Duration::from_secs(3);

/// Decides which connections may be set up.
pub(super) struct Gate {
    shared: Arc<GossipState>,
    arrivals: Arrivals,
}

impl Gate {
    pub(super) fn new(shared: Arc<GossipState>) -> Self {
        Self {
            shared,
            arrivals: Arrivals::default(),
        }
    }

    fn knock(&mut self, remote: &Multiaddr) -> Result<IpAddr, GossipRefusal> {
        let limits = &self.shared.limits;
        let address = socket_address(remote)
            .ok_or_else(|| GossipRefusal::HandshakeFailed("it does not come by TCP".into()))?;
        let ip = address.ip();
        self.arrivals
            .admit(limits, ip)
            .map_err(GossipRefusal::TooMany)?;
        let slots = Slots::of(&self.shared.peers());
        slots
            .admit(limits, Network::of(ip))
            .map_err(GossipRefusal::TooMany)?;
        Ok(ip)
    }

    /// Decides about a peer once its key is known. `remote` is the peer's address if it dialled us.
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
        // Clipped at 0: the other connection may be registered after `now` was read.
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
        self.arrivals.begin(id, ip);
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
                self.arrivals.established(established.connection_id);
            }
            FromSwarm::ListenFailure(failure) => {
                self.arrivals.ended(failure.connection_id);
            }
            FromSwarm::ConnectionClosed(closed) => {
                self.arrivals.ended(closed.connection_id);
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
