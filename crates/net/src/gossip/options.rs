//! The options of a gossip service.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use primitives::{Seed, hex};

use super::PeerId;
use super::exchange::ADDRESSES_MAX;

/// Settings of a [gossip service](super::start).
#[derive(Clone)]
pub struct GossipOptions {
    /// The seed of this node's ed25519 key: the same seed is the same node to others.
    pub key_seed: Seed,
    /// The network, as the hash of its genesis. Nodes of different networks refuse each other.
    pub network: [u8; 32],
    /// The address to listen on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Nodes to connect to, retried without end; their peers are learnt from them. The node's own address in this list is
    /// harmless.
    pub seeds: Vec<SocketAddr>,
    /// This node's software, for people; cut after 64 characters.
    pub software: String,
    /// Duration of a ban for misbehaviour.
    pub ban_time: Duration,
    /// Bounds.
    pub limits: GossipLimits,
}

/// Bounds of a [gossip service](super::start).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GossipLimits {
    /// Peers connected at once; a quarter of the places is reserved for inbound connections (`gossip.too_many_connections`).
    pub peers_max: usize,
    /// Places of peers kept for those that this node dials, from different networks; a quarter of all places at most.
    pub outbound_min: usize,
    /// Peers from one network (16 bits of IPv4, 32 of IPv6) that connect to us, and handshakes from it at once; this machine is exempt (`gossip.too_many_connections`).
    pub inbound_per_network_max: usize,
    /// Connections from one IP address, those in their handshake included (`gossip.too_many_connections`).
    pub per_ip_max: usize,
    /// Connections in their handshake at once, each way (`gossip.too_many_connections`).
    pub handshakes_max: usize,
    /// For a new connection to be reached, encrypted, identified and subscribed (`gossip.handshake_timeout`).
    pub handshake_timeout: Duration,
    /// First pause between attempts to reach an address; it doubles with each.
    pub back_off_min: Duration,
    /// Longest pause between attempts to reach an address.
    pub back_off_max: Duration,
    /// Silence of a peer after which it is pinged.
    pub ping_after: Duration,
    /// Events that wait to be taken; beyond, nothing is read from peers.
    pub events_max: usize,
    /// Bytes of events that wait to be taken; beyond, nothing is read from peers.
    pub events_bytes_max: usize,
    /// Calls that wait to be carried out (`gossip.busy`).
    pub calls_max: usize,
    /// Bytes of calls that wait to be carried out (`gossip.busy`).
    pub calls_bytes_max: usize,
    /// Messages that wait for one peer, sending and passing on; more are dropped for that peer.
    pub queue_max: usize,
    /// Messages that one peer may send each second, requests included; ten seconds' worth at once (`gossip.rate_exceeded`).
    pub messages_per_second_max: u32,
    /// Bytes of messages that one peer may send each second; ten seconds' worth at once (`gossip.rate_exceeded`).
    pub bytes_per_second_max: u32,
    /// Bytes that one peer may send each second without being a message, a request or an answer that is new here, such as copies;
    /// ten seconds' worth at once (`gossip.rate_exceeded`).
    pub waste_per_second_max: u32,
    /// Requests to one peer that are not answered yet (`gossip.too_many_requests`).
    pub requests_out_max: usize,
    /// Requests to all peers that are not answered yet (`gossip.too_many_requests`).
    pub requests_max: usize,
    /// Requests of one peer that are not answered yet; more are refused and count against it.
    pub requests_in_max: usize,
}

impl Default for GossipLimits {
    fn default() -> Self {
        Self {
            peers_max: 48,
            outbound_min: 8,
            inbound_per_network_max: 6,
            per_ip_max: 32,
            handshakes_max: 64,
            handshake_timeout: Duration::from_secs(10),
            back_off_min: Duration::from_millis(500),
            back_off_max: Duration::from_secs(30),
            ping_after: Duration::from_secs(15),
            events_max: 4_096,
            events_bytes_max: 64 << 20,
            calls_max: 8_192,
            calls_bytes_max: 64 << 20,
            queue_max: 512,
            messages_per_second_max: 5_000,
            bytes_per_second_max: 16 << 20,
            waste_per_second_max: 8 << 20,
            requests_out_max: 8,
            requests_max: 1_024,
            requests_in_max: 16,
        }
    }
}

impl fmt::Debug for GossipOptions {
    /// The seed of the key is secret and left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GossipOptions")
            .field("node", &PeerId::of_seed(self.key_seed.expose()))
            .field("network", &hex::encode(&self.network))
            .field("listen", &self.listen)
            .field("seeds", &self.seeds)
            .field("software", &self.software)
            .field("ban_time", &self.ban_time)
            .field("limits", &self.limits)
            .finish()
    }
}

/// Maximum number of seeds.
const SEEDS_MAX: usize = 256;

impl GossipOptions {
    /// Returns the name of the first setting that is out of range.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let limits = &self.limits;
        if self.seeds.len() > SEEDS_MAX {
            return Err("seeds are at most 256");
        }
        if self.ban_time.is_zero() {
            return Err("ban_time is above 0");
        }
        if limits.peers_max == 0 || limits.peers_max > ADDRESSES_MAX {
            return Err("peers_max is 1 to 1024");
        }
        let counts = [
            limits.outbound_min,
            limits.inbound_per_network_max,
            limits.per_ip_max,
            limits.handshakes_max,
            limits.events_max,
            limits.calls_max,
            limits.queue_max,
            limits.requests_out_max,
            limits.requests_max,
            limits.requests_in_max,
            limits.messages_per_second_max as usize,
            limits.waste_per_second_max as usize,
        ];
        if counts.contains(&0) {
            return Err("a limit that is a count is at least 1");
        }
        let bytes = [
            limits.events_bytes_max,
            limits.calls_bytes_max,
            limits.bytes_per_second_max as usize,
        ];
        let held = 1 << 31;
        if bytes.iter().any(|bytes| *bytes < 2 << 20 || *bytes > held) {
            return Err("a limit in bytes is 2 MiB to 2 GiB");
        }
        if limits.back_off_min.is_zero() || limits.back_off_min > limits.back_off_max {
            return Err("back_off_min is above 0 and not above back_off_max");
        }
        if limits.handshake_timeout.is_zero() || limits.ping_after.is_zero() {
            return Err("handshake_timeout and ping_after are above 0");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_of_the_key_is_never_shown() {
        let options = GossipOptions {
            key_seed: Seed::new([171; 32]),
            network: [1; 32],
            listen: ([127, 0, 0, 1], 0).into(),
            seeds: vec![],
            software: "x".into(),
            ban_time: Duration::from_secs(1),
            limits: GossipLimits::default(),
        };
        let shown = format!("{options:?}");
        assert!(!shown.contains("171") && !shown.contains("abab"), "{shown}");
        assert!(shown.contains("12D3KooW"), "{shown}");
    }
}
