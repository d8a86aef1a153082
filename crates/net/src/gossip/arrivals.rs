//! Inbound connections by their origin, established or in their handshake.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use libp2p_swarm::ConnectionId;

use super::network::Network;
use super::options::GossipLimits;

/// The inbound connections of a node. Their number is bounded by the limits on handshakes and peers.
///
/// # Invariants
/// - A network that is limited has at most `inbound_per_network_max` handshakes at once. A handshake costs nothing, so otherwise a few
///   hosts could keep every place for one busy.
#[derive(Debug, Default)]
pub(super) struct Arrivals(HashMap<ConnectionId, Arrival>);

#[derive(Clone, Copy, Debug)]
struct Arrival {
    block: IpAddr,
    network: Network,
    /// Whether it is in its handshake.
    is_new: bool,
}

impl Arrivals {
    /// Returns the exceeded limit, if a connection from this address must be refused.
    pub(super) fn admit(&self, limits: &GossipLimits, ip: IpAddr) -> Result<(), &'static str> {
        let (block, network) = (block(ip), Network::of(ip));
        let count = |is_counted: &dyn Fn(&Arrival) -> bool| {
            self.0
                .values()
                .filter(|arrival| is_counted(arrival))
                .count()
        };
        if count(&|arrival| arrival.is_new) >= limits.handshakes_max {
            return Err("in their handshake");
        }
        if count(&|arrival| arrival.block == block) >= limits.per_ip_max {
            return Err("from its IP address");
        }
        let of_network = count(&|arrival| arrival.is_new && arrival.network == network);
        if network.is_limited() && of_network >= limits.inbound_per_network_max {
            return Err("in their handshake from its network");
        }
        Ok(())
    }

    /// Adds a connection that begins its handshake.
    pub(super) fn begin(&mut self, connection: ConnectionId, ip: IpAddr) {
        let arrival = Arrival {
            block: block(ip),
            network: Network::of(ip),
            is_new: true,
        };
        self.0.insert(connection, arrival);
    }

    /// Notes that a connection is established.
    pub(super) fn established(&mut self, connection: ConnectionId) {
        if let Some(arrival) = self.0.get_mut(&connection) {
            arrival.is_new = false;
        }
    }

    /// Removes a connection that has ended or whose handshake has failed.
    pub(super) fn ended(&mut self, connection: ConnectionId) {
        self.0.remove(&connection);
    }
}

/// Returns the address block of one host: the /64 network for IPv6, because every IPv6 host is given one.
fn block(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
        v4 => v4,
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

    /// Opens connections in turn from these addresses as often as admitted, up to 200. Returns those in their handshake.
    fn besieged(limits: &GossipLimits, addresses: &[&str]) -> (Arrivals, usize) {
        let mut arrivals = Arrivals::default();
        let addresses: Vec<IpAddr> = addresses
            .iter()
            .map(|ip| ip.parse().expect("an address"))
            .collect();
        for number in 0..200 {
            let ip = addresses[number % addresses.len()];
            if arrivals.admit(limits, ip).is_ok() {
                arrivals.begin(ConnectionId::new_unchecked(number), ip);
            }
        }
        let count = arrivals.0.len();
        (arrivals, count)
    }

    #[test]
    fn silent_handshakes_of_a_few_networks_leave_room_for_others() {
        let limits = GossipLimits::default();
        let share = limits.inbound_per_network_max;
        for (addresses, expected) in [
            (vec!["203.0.113.7"], share),
            (vec!["203.0.113.7", "203.0.9.9"], share),
            (vec!["203.0.113.7", "198.51.100.1"], 2 * share),
            (vec!["2001:db8::1", "2001:db8:0:1::1"], share),
        ] {
            let (arrivals, count) = besieged(&limits, &addresses);
            assert_eq!(count, expected, "{addresses:?}");
            let other = "192.0.2.1".parse().expect("an address");
            assert_eq!(arrivals.admit(&limits, other), Ok(()), "{addresses:?}");
        }
        // The machine's own address has only the limits of one host and of all.
        let (_, count) = besieged(&limits, &["127.0.0.1"]);
        assert_eq!(count, limits.per_ip_max);
    }

    #[test]
    fn an_established_connection_leaves_its_handshake_to_another() {
        let limits = GossipLimits::default();
        let ip: IpAddr = "203.0.113.7".parse().expect("an address");
        let (mut arrivals, _) = besieged(&limits, &["203.0.113.7"]);
        assert!(arrivals.admit(&limits, ip).is_err());
        arrivals.established(ConnectionId::new_unchecked(0));
        assert_eq!(arrivals.admit(&limits, ip), Ok(()));
        arrivals.ended(ConnectionId::new_unchecked(1));
        arrivals.begin(ConnectionId::new_unchecked(500), ip);
        assert_eq!(arrivals.admit(&limits, ip), Ok(()), "one more has ended");
    }
}
