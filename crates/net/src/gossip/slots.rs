//! Places for peers: some are kept for peers that this node chose, from different networks, and the rest is shared out by network.
//!
//! A peer that dials in can never take a place that is kept for an outbound one, so no number of inbound connections cuts a node off.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::network::Network;
use super::peers::{Peer, Peers};
use super::{Direction, GossipLimits, PeerId};

/// Outbound places that peers learnt from others leave to seeds that are not connected.
const SEEDS_KEPT: usize = 2;
/// Number of inbound peers above the limit that are accepted until the least useful one is dismissed.
const SLACK: usize = 4;
/// Inbound peers that are never evicted: this many of the most useful ones, and this many of the longest connected ones.
const KEPT: usize = 8;
/// Interval at which the usefulness of peers is halved.
pub(super) const HALVED_EVERY: Duration = Duration::from_secs(60);

/// The number of places in use, by kind.
#[derive(Debug, Default)]
pub(super) struct Slots {
    inbound: BTreeMap<Network, usize>,
    outbound: BTreeMap<Network, usize>,
    /// Outbound peers whose addresses are not seeds.
    learnt: usize,
}

impl GossipLimits {
    /// Places kept for outbound peers: a quarter of all at most, so that small networks work.
    fn outbound_kept(&self) -> usize {
        self.outbound_min.min(self.peers_max / 4)
    }

    fn inbound_max(&self) -> usize {
        self.peers_max - self.outbound_kept()
    }
}

impl Slots {
    /// The places taken by connected peers.
    pub(super) fn of(peers: &Peers) -> Self {
        let mut slots = Self::default();
        for (_, peer) in peers.iter() {
            if let Some(first) = peer.connections.first() {
                let network = Network::of(first.remote.ip());
                slots.take(first.direction, network);
            }
        }
        slots
    }

    fn take(&mut self, direction: Direction, network: Network) {
        let taken = match direction {
            Direction::Inbound => &mut self.inbound,
            Direction::Outbound => &mut self.outbound,
        };
        *taken.entry(network).or_default() += 1;
    }

    /// Counts an address that is being dialled, which takes an outbound place.
    pub(super) fn dials(&mut self, network: Network, is_connected: bool, is_seed: bool) {
        if !is_connected {
            self.take(Direction::Outbound, network);
        }
        self.learnt += usize::from(!is_seed);
    }

    fn inbound(&self) -> usize {
        self.inbound.values().sum()
    }

    fn outbound(&self) -> usize {
        self.outbound.values().sum()
    }

    fn connected(&self) -> usize {
        self.inbound() + self.outbound()
    }

    /// Checks whether a peer from this network may dial in. Otherwise returns the exceeded limit.
    pub(super) fn admit(
        &self,
        limits: &GossipLimits,
        network: Network,
    ) -> Result<(), &'static str> {
        // A network that is not counted has no peers.
        let of_network = self.inbound.get(&network).copied().unwrap_or(0);
        if network.is_limited() && of_network >= limits.inbound_per_network_max {
            return Err("of peers from its network");
        }
        // A node with few places cannot choose between networks.
        let slack = SLACK.min(limits.peers_max / 8);
        let full = self.inbound() >= limits.inbound_max() + slack;
        if full || self.connected() >= limits.peers_max + slack {
            return Err("of peers");
        }
        Ok(())
    }

    /// Returns the number of outbound places: the reserved ones, and up to three quarters of the others that inbound peers do not use.
    fn outbound_max(&self, limits: &GossipLimits) -> usize {
        let most = limits.peers_max - limits.peers_max / 4;
        // Clipped at 0: inbound peers may have taken all but the kept places.
        limits
            .outbound_kept()
            .max(most.saturating_sub(self.inbound()))
    }

    /// Returns whether any outbound place is free.
    pub(super) fn may_dial(&self, limits: &GossipLimits) -> bool {
        self.outbound() < self.outbound_max(limits)
    }

    /// Whether an address may be dialled: kept places go to networks that have none, and some of them to seeds alone.
    pub(super) fn may_dial_there(
        &self,
        limits: &GossipLimits,
        network: Network,
        is_seed: bool,
        seeds_missing: usize,
    ) -> bool {
        if is_seed {
            return true;
        }
        let most = self.outbound_max(limits);
        if self.learnt + seeds_missing.min(SEEDS_KEPT) >= most {
            return false;
        }
        if !network.is_limited() || !self.outbound.contains_key(&network) {
            return true;
        }
        let repeated: usize = self.outbound.values().map(|count| count - 1).sum();
        repeated < most - limits.outbound_kept()
    }

    /// Inbound peers beyond the limit.
    pub(super) fn excess(&self, limits: &GossipLimits) -> usize {
        // Both are clipped at 0: there may be fewer peers than the limit.
        let inbound = self.inbound().saturating_sub(limits.inbound_max());
        inbound.max(self.connected().saturating_sub(limits.peers_max))
    }
}

/// The inbound peer that is of the least use: not among the most useful, nor those connected for the longest time; of the network with the
/// most peers among the rest, and of those the least useful, then the youngest.
pub(super) fn least_useful(peers: &Peers, now: Instant) -> Option<PeerId> {
    let inbound = peers.iter().filter(|(_, peer)| is_inbound(peer));
    let mut all: Vec<(PeerId, Network, u32, Duration)> = inbound
        .filter_map(|(id, peer)| {
            let first = peer.connections.first()?;
            // Clipped at 0: a connection may begin after `now` was read.
            let age = now.saturating_duration_since(first.since);
            Some((*id, Network::of(first.remote.ip()), peer.useful, age))
        })
        .collect();
    let kept = KEPT.min(all.len() / 3);
    all.sort_unstable_by_key(|(id, _, useful, _)| (*useful, *id));
    all.truncate(all.len() - kept);
    all.sort_unstable_by_key(|(id, _, _, age)| (*age, *id));
    all.truncate(all.len() - kept);
    let mut crowds: BTreeMap<Network, usize> = BTreeMap::new();
    for (_, network, ..) in &all {
        *crowds.entry(*network).or_default() += 1;
    }
    let crowd = |network: &Network| crowds[network];
    all.iter()
        .min_by_key(|(id, network, useful, age)| {
            (std::cmp::Reverse(crowd(network)), *useful, *age, *id)
        })
        .map(|(id, ..)| *id)
}

fn is_inbound(peer: &Peer) -> bool {
    let first = peer.connections.first();
    first.is_some_and(|first| first.direction == Direction::Inbound)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};
    use std::sync::Arc;

    use libp2p_swarm::ConnectionId;

    use super::super::peers::Connection;
    use super::super::wire::Wire;
    use super::*;

    fn ip(a: u8, b: u8, d: u8) -> IpAddr {
        [a, b, 1, d].into()
    }

    fn connect(
        peers: &mut Peers,
        number: u8,
        direction: Direction,
        ip: IpAddr,
        since: Instant,
        useful: u32,
    ) {
        let id = PeerId::from_bytes([number; 32]);
        let peer = peers.of(id, &GossipLimits::default(), since);
        peer.useful = useful;
        peer.connections.push(Connection {
            id: ConnectionId::new_unchecked(number.into()),
            direction,
            remote: SocketAddr::new(ip, 1),
            since,
            wire: Arc::new(Wire::default()),
            looked_at: 0,
        });
    }

    #[test]
    fn two_networks_cannot_fill_the_places_of_peers() {
        let (now, limits) = (Instant::now(), GossipLimits::default());
        let mut peers = Peers::default();
        let mut number = 0;
        for network in 0..60 {
            for host in 0..60 {
                let from = ip(60 + network % 60, 1, host);
                let network = Network::of(from);
                if Slots::of(&peers).admit(&limits, network).is_ok() && number < 200 {
                    number += 1;
                    connect(&mut peers, number, Direction::Inbound, from, now, 0);
                }
            }
            let expected = (usize::from(network) + 1) * limits.inbound_per_network_max;
            let most = limits.inbound_max() + SLACK;
            assert_eq!(peers.connected(), expected.min(most), "{network} networks");
        }
        let slots = Slots::of(&peers);
        assert!(slots.may_dial(&limits), "outbound places are kept");
        assert_eq!(slots.outbound_max(&limits), limits.outbound_min);
        assert_eq!(slots.excess(&limits), SLACK);
    }

    #[test]
    fn kept_places_go_to_different_networks_and_to_seeds() {
        let (now, limits) = (Instant::now(), GossipLimits::default());
        let mut peers = Peers::default();
        for number in 0..40 {
            let from = ip(60 + number / 6, 9, number);
            connect(&mut peers, 100 + number, Direction::Inbound, from, now, 0);
        }
        let mut slots = Slots::of(&peers);
        // One attacker tells of many addresses in two networks.
        let mut dialled = 0;
        for host in 0..100 {
            let network = Network::of(ip(20 + host % 2, 1, host));
            if slots.may_dial(&limits) && slots.may_dial_there(&limits, network, false, 3) {
                slots.dials(network, false, false);
                dialled += 1;
            }
        }
        assert_eq!(dialled, 2, "one place for each network");
        for number in 0..100 {
            let network = Network::of(ip(100 + number, 1, 1));
            if slots.may_dial(&limits) && slots.may_dial_there(&limits, network, false, 3) {
                slots.dials(network, false, false);
                dialled += 1;
            }
        }
        assert_eq!(
            dialled,
            limits.outbound_min - SEEDS_KEPT,
            "the rest is for seeds"
        );
        let seed = Network::of(ip(20, 1, 1));
        for _ in 0..SEEDS_KEPT {
            assert!(slots.may_dial(&limits) && slots.may_dial_there(&limits, seed, true, 3));
            slots.dials(seed, false, true);
        }
        assert!(!slots.may_dial(&limits));
    }

    #[test]
    fn a_test_network_on_one_machine_has_all_places() {
        let limits = GossipLimits::default();
        let mut slots = Slots::default();
        for _ in 0..36 {
            assert!(slots.may_dial(&limits));
            assert!(slots.may_dial_there(&limits, Network::Local, false, 0));
            slots.dials(Network::Local, false, false);
        }
        assert!(
            !slots.may_dial(&limits),
            "a quarter is left to inbound peers"
        );
        for _ in 0..12 {
            assert_eq!(slots.admit(&limits, Network::Local), Ok(()));
            slots.take(Direction::Inbound, Network::Local);
        }
    }

    #[test]
    fn the_least_useful_of_the_largest_crowd_goes() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut peers = Peers::default();
        let inbound = Direction::Inbound;
        // Five hosts of other networks, four of them old; and a crowd of seven.
        for (number, since) in [(1, 0), (9, 1), (10, 2), (11, 3), (12, 4)] {
            connect(&mut peers, number, inbound, ip(50, number, 1), at(since), 0);
        }
        for (number, useful) in [(2, 5), (3, 3), (4, 3), (5, 900), (6, 800), (7, 3), (8, 3)] {
            let since = at(u64::from(number) * 10);
            connect(
                &mut peers,
                number,
                inbound,
                ip(50, 200, number),
                since,
                useful,
            );
        }
        let outbound = Direction::Outbound;
        connect(&mut peers, 99, outbound, ip(50, 200, 99), at(99), 0);
        // Kept: 5, 6, 2 and 8 for their use, 1, 9, 10 and 11 for their age.
        let id = PeerId::from_bytes([7; 32]);
        assert_eq!(least_useful(&peers, at(100)), Some(id));
        assert_eq!(least_useful(&Peers::default(), start), None);
    }
}
