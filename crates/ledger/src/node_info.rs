//! Node infos: where a party is reached.

use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};

use crate::Party;
use crate::limits::{ADDRESS_BYTES_MAX, ADDRESSES_MAX};

/// A node's description of itself.
///
/// Encoded as `[party, [address (text), ...], platform version, serial, notary info or null]`. At least one address, at
/// most 16, each of the form `host:port` and at most 255 bytes long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// The party that runs it.
    pub party: Party,
    /// Addresses on which it listens, as `host:port`, best first.
    pub addresses: Vec<String>,
    /// The version of the protocols it speaks.
    pub platform_version: u32,
    /// Grows with every new node info of the same party.
    pub serial: u64,
    /// The kind of notary, if it is one.
    pub notary: Option<NotaryInfo>,
}

/// The kind of a notary. Encoded as `[validating]`, or as `[validating, service]` for a worker of a replicated notary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotaryInfo {
    /// Whether it sees and verifies whole transactions.
    pub validating: bool,
    /// The notary that transactions name and whose key signs, if the node is one of its workers. `None` for a notary of its own.
    pub service: Option<Party>,
}

impl NotaryInfo {
    /// Describes a notary that is no worker of a service.
    pub fn single(validating: bool) -> Self {
        Self {
            validating,
            service: None,
        }
    }
}

impl Encode for NotaryInfo {
    fn encode(&self, e: &mut Encoder) {
        e.array(1 + usize::from(self.service.is_some()));
        self.validating.encode(e);
        if let Some(service) = &self.service {
            service.encode(e);
        }
    }
}

impl Decode for NotaryInfo {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let fields = d.array()?;
        if !(1..=2).contains(&fields) {
            return Err(d.invalid("the kind of a notary has one or two fields"));
        }
        Ok(Self {
            validating: bool::decode(d)?,
            service: match fields {
                2 => Some(Party::decode(d)?),
                _ => None,
            },
        })
    }
}

/// Tells whether an address has the form `host:port`.
pub fn is_address(address: &str) -> bool {
    let Some((host, port)) = address.rsplit_once(':') else {
        return false;
    };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    !host.is_empty()
        && address.len() <= ADDRESS_BYTES_MAX
        && host.bytes().all(|b| b.is_ascii_graphic())
        && (bracketed || !host.contains([':', '/', '[', ']', '@']))
        && port
            .parse::<u16>()
            .is_ok_and(|p| p > 0 && port == p.to_string())
}

impl Encode for NodeInfo {
    fn encode(&self, e: &mut Encoder) {
        e.array(5);
        self.party.encode(e);
        self.addresses.encode(e);
        self.platform_version.encode(e);
        self.serial.encode(e);
        self.notary.encode(e);
    }
}

impl Decode for NodeInfo {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(5)?;
        let party = Party::decode(d)?;
        let addresses: Vec<String> = d.vec_of(ADDRESSES_MAX)?;
        if addresses.is_empty() || !addresses.iter().all(|address| is_address(address)) {
            return Err(d.invalid("a node has 1 to 16 addresses of the form host:port"));
        }
        Ok(Self {
            party,
            addresses,
            platform_version: d.u32()?,
            serial: d.u64()?,
            notary: Option::decode(d)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_host_and_port() {
        for good in [
            "localhost:1",
            "127.0.0.1:65535",
            "[::1]:80",
            "a.example.org:10002",
        ] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "localhost",
            ":80",
            "a:0",
            "a:65536",
            "a:080",
            "::1:80",
            "a b:1",
            "u@h:1",
        ] {
            assert!(!is_address(bad), "{bad}");
        }
    }

    #[test]
    fn the_kind_of_a_notary_has_one_field_or_two() {
        let name = crate::LegalName::new("Service", "Zurich", "CH").expect("a name");
        let key = primitives::KeyPair::from_seed(primitives::Scheme::Ed25519, [1; 32]);
        let service = Party::new(name, key.public().clone());
        let worker = NotaryInfo {
            validating: false,
            service: Some(service),
        };
        for (info, first) in [(NotaryInfo::single(true), 0x81), (worker, 0x82)] {
            let bytes = info.to_bytes();
            assert_eq!(bytes[0], first, "an array of one or two");
            assert_eq!(NotaryInfo::from_bytes(&bytes), Ok(info));
        }
        // Older programs wrote this.
        let single = NotaryInfo::from_bytes(&[0x81, 0xf4]);
        assert_eq!(single, Ok(NotaryInfo::single(false)));
        for bad in [&[0x80][..], &[0x82, 0xf4, 0xf6], &[0x83, 0xf4, 0xf6, 0xf6]] {
            assert!(NotaryInfo::from_bytes(bad).is_err(), "{bad:?}");
        }
    }
}
