//! The first frame in each direction: who speaks.

use ledger::PartyId;

/// The protocol spoken.
pub const PROTOCOL: u32 = 1;
/// Most bytes of a hello.
pub const HELLO_BYTES_MAX: usize = 256;

/// See the module. On the wire: `protocol 4 | party 32 | epoch 8 | flags 1 | software (the rest, UTF-8)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Who speaks.
    pub party: PartyId,
    /// The number that names the speaker's store.
    pub epoch: u64,
    /// Whether frames to the speaker may be compressed.
    pub compression: bool,
    /// The speaker's software, for logs.
    pub software: String,
}

impl Hello {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(&PROTOCOL.to_be_bytes());
        bytes.extend_from_slice(self.party.as_bytes());
        bytes.extend_from_slice(&self.epoch.to_be_bytes());
        bytes.push(u8::from(self.compression));
        bytes.extend_from_slice(self.software.as_bytes());
        bytes
    }

    /// Reads a hello; an error says what is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let damaged = || "it is cut off".to_owned();
        let (protocol, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
        let protocol = u32::from_be_bytes(*protocol);
        if protocol != PROTOCOL {
            return Err(format!("it speaks protocol {protocol}, this node {PROTOCOL}"));
        }
        let (party, rest) = rest.split_first_chunk::<32>().ok_or_else(damaged)?;
        let (epoch, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (flags, software) = rest.split_first().ok_or_else(damaged)?;
        let software = String::from_utf8_lossy(software).into_owned();
        Ok(Self {
            party: PartyId::from_array(*party),
            epoch: u64::from_be_bytes(*epoch),
            compression: *flags == 1,
            software,
        })
    }
}
