//! The view of a peer, from its state.

use std::time::{Instant, SystemTime};

use super::peers::Peer;
use super::{PeerId, PeerView};

impl Peer {
    /// Returns what the application sees of the peer.
    pub(super) fn view(&self, id: PeerId, now: Instant) -> PeerView {
        let clock = SystemTime::now();
        let wires = || self.connections.iter().map(|connection| &connection.wire);
        let oldest = self
            .connections
            .first()
            .filter(|_| self.announced.is_some());
        let left = self.banned_until.filter(|until| now < *until);
        PeerView {
            id,
            address: self.address,
            // Clipped at 0: it may be announced after `now` was read.
            direction: oldest.map(|connection| connection.direction),
            since: self
                .announced
                .and_then(|since| clock.checked_sub(now.saturating_duration_since(since))),
            points: self.points(now),
            banned_until: left.and_then(|until| clock.checked_add(until.duration_since(now))),
            reason: self.reason.clone(),
            software: self.software.clone(),
            round_trip: self.round_trip,
            bytes_in: wires().map(|wire| wire.read()).sum(),
            bytes_out: wires().map(|wire| wire.written()).sum(),
            messages_in: self.messages_in,
            rejected: self.rejected,
            requests_in: self.requests_in,
            requests_out: self.requests_out,
        }
    }
}
