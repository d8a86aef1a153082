//! Networks that addresses belong to. An attacker gets many addresses of few networks, so places for peers are shared out by network.

use std::net::IpAddr;

/// The network of an address: the first 16 bits of IPv4, or the first 32 bits of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Network {
    /// This machine: no limit applies.
    Local,
    /// A host of a private network: each one counts for itself.
    Private(IpAddr),
    /// A public network of IPv4.
    V4([u8; 2]),
    /// A public network of IPv6.
    V6([u8; 4]),
}

impl Network {
    /// The network of an address.
    pub(super) fn of(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            ip if ip.is_loopback() => Self::Local,
            IpAddr::V4(v4) if v4.is_private() || v4.is_link_local() => Self::Private(v4.into()),
            IpAddr::V6(v6) if v6.is_unique_local() || v6.is_unicast_link_local() => {
                Self::Private(v6.into())
            }
            IpAddr::V4(v4) => {
                let [a, b, ..] = v4.octets();
                Self::V4([a, b])
            }
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.octets();
                Self::V6([a, b, c, d])
            }
        }
    }

    /// Returns whether its addresses are valid only on this machine or within a private network.
    pub(super) fn is_near(self) -> bool {
        matches!(self, Self::Local | Self::Private(_))
    }

    /// Whether peers from there count towards the limits of one network.
    pub(super) fn is_limited(self) -> bool {
        self != Self::Local
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_addresses() {
        for (one, other, same) in [
            ("203.0.113.1", "203.0.200.9", true),
            ("203.0.113.1", "203.1.113.1", false),
            ("203.0.113.1", "::ffff:203.0.1.1", true),
            ("2001:db8::1", "2001:db8:ffff::1", true),
            ("2001:db8::1", "2001:db9::1", false),
            ("10.0.0.1", "10.0.0.2", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("fd00::1", "fd00::2", false),
            ("127.0.0.1", "::1", true),
        ] {
            let [one, other] = [one, other].map(|ip| Network::of(ip.parse().expect("an address")));
            assert_eq!(one == other, same, "{one:?} {other:?}");
        }
        let of = |ip: &str| Network::of(ip.parse().expect("an address"));
        assert!(of("127.3.4.5").is_near() && !of("127.3.4.5").is_limited());
        assert!(of("192.168.1.1").is_near() && of("192.168.1.1").is_limited());
        assert!(!of("8.8.8.8").is_near());
    }
}
