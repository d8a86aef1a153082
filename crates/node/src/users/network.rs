//! The network of an address, which stands for one client.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the address, or the network of 64 bits that one client of IPv6 usually has.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}
