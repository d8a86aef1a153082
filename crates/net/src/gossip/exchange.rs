//! The exchange of addresses: nodes tell each other where other nodes can be reached.
//!
//! The answer to a request for addresses is a list of entries, each the peer's key (32 bytes), 4 or 6 (1 byte), the IP address
//! (4 or 16 bytes) and the port (2 bytes, big-endian), one after the other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::PeerId;

/// Addresses that a node remembers.
pub(super) const ADDRESSES_MAX: usize = 1_024;
/// Maximum number of addresses in one answer. Further ones are ignored.
pub(super) const TOLD_MAX: usize = 64;

/// Encodes an answer with these addresses.
pub(super) fn encode(known: impl Iterator<Item = (PeerId, SocketAddr)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (peer, address) in known.take(TOLD_MAX) {
        bytes.extend_from_slice(peer.as_bytes());
        match address.ip() {
            IpAddr::V4(ip) => {
                bytes.push(4);
                bytes.extend_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                bytes.push(6);
                bytes.extend_from_slice(&ip.octets());
            }
        }
        bytes.extend_from_slice(&address.port().to_be_bytes());
    }
    bytes
}

/// Decodes an answer; none if it is malformed. Addresses at which no node can be reached are left out.
pub(super) fn decode(mut bytes: &[u8]) -> Option<Vec<(PeerId, SocketAddr)>> {
    let mut told = Vec::new();
    while !bytes.is_empty() && told.len() < TOLD_MAX {
        let (key, rest) = bytes.split_first_chunk::<32>()?;
        let (kind, rest) = rest.split_first()?;
        let (ip, rest) = match kind {
            4 => {
                let (ip, rest) = rest.split_first_chunk::<4>()?;
                (IpAddr::from(Ipv4Addr::from(*ip)), rest)
            }
            6 => {
                let (ip, rest) = rest.split_first_chunk::<16>()?;
                (IpAddr::from(Ipv6Addr::from(*ip)), rest)
            }
            _ => return None,
        };
        let (port, rest) = rest.split_first_chunk::<2>()?;
        bytes = rest;
        let address = SocketAddr::new(ip, u16::from_be_bytes(*port));
        if is_sensible(&address) {
            told.push((PeerId::from_bytes(*key), address));
        }
    }
    Some(told)
}

/// Returns whether the address can be that of a node.
fn is_sensible(address: &SocketAddr) -> bool {
    let ip = address.ip();
    address.port() != 0 && !ip.is_unspecified() && !ip.is_multicast() && ip != Ipv4Addr::BROADCAST
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(number: u8, address: &str) -> (PeerId, SocketAddr) {
        let address = address.parse().expect("an address");
        (PeerId::from_bytes([number; 32]), address)
    }

    #[test]
    fn addresses_go_there_and_back_and_useless_ones_are_left_out() {
        let known = [
            entry(1, "127.0.0.1:9"),
            entry(2, "[2001:db8::1]:65535"),
            entry(3, "0.0.0.0:9"),
            entry(4, "10.0.0.1:0"),
            entry(5, "224.0.0.1:9"),
            entry(6, "255.255.255.255:9"),
        ];
        let bytes = encode(known.into_iter());
        assert_eq!(decode(&bytes), Some(known[..2].to_vec()));
        assert_eq!(decode(&[]), Some(vec![]));
        for cut in [1, 32, 33, 38, 40] {
            assert_eq!(decode(&bytes[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let many = (0..1_000).map(|_| entry(1, "127.0.0.1:9"));
        let bytes = encode(many);
        assert_eq!(bytes.len(), TOLD_MAX * 39);
        let twice = [bytes.clone(), bytes].concat();
        assert_eq!(decode(&twice).map(|told| told.len()), Some(TOLD_MAX));
    }

    proptest! {
        #![proptest_config(properties::config!(256))]

        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..4_000)) {
            if let Some(told) = decode(&bytes) {
                prop_assert!(told.len() <= TOLD_MAX);
            }
        }
    }
}
