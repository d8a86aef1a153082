//! The consequences of bad conduct: points, bans and disconnection.

use std::time::{Duration, Instant};

use super::behaviour::SCORE_MIN;
use super::service::Service;
use super::{GossipRefusal, PeerId};

/// Points against a peer for a message that was rejected.
pub const REJECTED_POINTS: u32 = 10;
/// Points against a peer for a message or a request beyond its rate.
pub const RATE_POINTS: u32 = 1;
/// Points against a peer per second while it sends too much useless traffic.
pub const WASTE_POINTS: u32 = 20;
/// Minimum time before a dismissed peer is dialled again.
pub(super) const DISMISSED_FOR: Duration = Duration::from_secs(60);
/// Points against a peer for a malformed request.
pub const REQUEST_POINTS: u32 = 10;

impl Service {
    /// Counts points against a peer, and bans it if they are enough.
    pub(super) fn penalise(&mut self, peer: PeerId, points: u32, reason: &str) {
        let now = Instant::now();
        let mut peers = self.shared.peers();
        let Some(known) = peers.get_mut(&peer) else {
            return;
        };
        let enough = known.penalise(points, reason, now) && !known.is_banned(now);
        let points = known.points(now);
        drop(peers);
        self.tell_score(peer, points);
        if enough {
            self.ban(peer, self.options.ban_time, reason);
        }
    }

    /// Bans a peer for some time. The peer may be unconnected or unknown.
    pub(super) fn ban(&mut self, peer: PeerId, time: Duration, reason: &str) {
        let now = Instant::now();
        let mut peers = self.shared.peers();
        let known = peers.of(peer, &self.options.limits, now);
        known.ban(time, reason, now);
        drop(peers);
        self.shared.counters.bans.add(1);
        tracing::warn!(code = "gossip.banned", %peer, seconds = time.as_secs(), "peer banned: {reason}");
        self.disconnect(peer);
    }

    /// Called each second: bans peers that gossipsub no longer listens to, and penalises peers that
    /// send useless traffic.
    pub(super) fn look_at_conduct(&mut self) {
        let rate = self.options.limits.waste_per_second_max;
        let mut connected = Vec::new();
        for (id, peer) in self.shared.peers().iter_mut() {
            if !peer.connections.is_empty() {
                connected.push((*id, peer.wastes(rate)));
            }
        }
        for (id, wastes) in connected {
            let gossip = &self.swarm.behaviour().gossip;
            let score = id.to_libp2p().and_then(|peer| gossip.peer_score(&peer));
            if score.is_some_and(|score| score <= SCORE_MIN) {
                self.ban(
                    id,
                    self.options.ban_time,
                    "gossipsub ignores it because of its score",
                );
            } else if wastes {
                self.penalise(id, WASTE_POINTS, "it sends too much useless traffic");
            }
        }
    }

    /// Ends the connections with a peer that does not belong to this network, and stores the reason.
    pub(super) fn refuse(&mut self, peer: PeerId, refusal: &GossipRefusal) {
        let mut peers = self.shared.peers();
        let known = peers.get_mut(&peer);
        let from = known.map_or_else(String::new, |known| {
            known.reason = Some(super::peers::words(&refusal.to_string()));
            let first = known.connections.first();
            first.map_or_else(String::new, |first| first.remote.to_string())
        });
        drop(peers);
        self.shared.counters.refused.add(1);
        self.log.refused(&from, refusal);
        self.disconnect(peer);
    }

    /// Dismisses a peer that is not useful: ends its connections. It is dialled again after [`DISMISSED_FOR`] at the earliest.
    pub(super) fn dismiss(&mut self, peer: PeerId, reason: &str) {
        if let Some(known) = self.shared.peers().get_mut(&peer) {
            known.reason = Some(super::peers::words(reason));
            known.dismissed = true;
        }
        self.shared.counters.dismissed.add(1);
        tracing::info!(code = "gossip.dismissed", %peer, "peer disconnected: {reason}");
        self.disconnect(peer);
    }

    pub(super) fn disconnect(&mut self, peer: PeerId) {
        if let Some(peer) = peer.to_libp2p() {
            // An error means that it is not connected.
            let _ = self.swarm.disconnect_peer_id(peer);
        }
    }

    /// Reports our points to gossipsub, which chooses its peers by a score that includes them.
    pub(super) fn tell_score(&mut self, peer: PeerId, points: u32) {
        if let Some(peer) = peer.to_libp2p() {
            let gossip = &mut self.swarm.behaviour_mut().gossip;
            gossip.set_application_score(&peer, -f64::from(points));
        }
    }
}
