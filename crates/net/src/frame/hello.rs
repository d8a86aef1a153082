//! The first frame of either side: its identity and the limits it accepts.

use ledger::PartyId;
use primitives::{Coded, Decode, DecodeError, Decoder, Encode, Encoder};
use thiserror::Error;

use super::STREAMS_MAX;
use crate::errors;

/// The version of the protocol that this crate speaks.
pub const PROTOCOL_VERSION: u32 = 1;
/// Maximum length of a software version, in characters.
pub const SOFTWARE_CHARS_MAX: usize = 64;
/// The number of zstd in the list of compressions.
const ZSTD: u8 = 1;
/// Compressions that a hello may name.
const COMPRESSIONS_MAX: usize = 8;

/// A node's identity, the features it supports and the limits it accepts.
///
/// Canonical CBOR, an array: `[protocol version, party (32 bytes), epoch, software (text), [compression, ...], window,
/// max message bytes, clock]`. The only compression is 1, zstd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The sender's party id; proved by the certificate.
    pub party: PartyId,
    /// Identifies the sender's store. A new number shows that the sender has lost its data.
    pub epoch: u64,
    /// The sender's software version, for display.
    pub software: String,
    /// Whether frames to the sender may be compressed with zstd.
    pub takes_zstd: bool,
    /// Credit of each stream to begin with, in bytes; at least 1.
    pub window: u32,
    /// Largest message that the sender accepts, in bytes.
    pub max_message_bytes: u32,
    /// The sender's clock at the hello, in milliseconds since the Unix epoch. It is shown to operators and decides nothing.
    pub clock_ms: u64,
}

/// Why a hello is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HelloError {
    /// Another version of the protocol.
    #[error("the peer speaks version {0} of the protocol, this node version {PROTOCOL_VERSION}")]
    Version(u32),
    /// It does not decode, or a value is out of range.
    #[error("the peer's hello is damaged: {0}")]
    Damaged(#[from] DecodeError),
}

impl Coded for HelloError {
    fn code(&self) -> &'static str {
        match self {
            Self::Version(_) => "net.version_mismatch",
            Self::Damaged(_) => "net.bad_hello",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl Hello {
    /// The body of the frame.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut e = Encoder::new();
        e.array(8);
        e.u64(PROTOCOL_VERSION.into());
        self.party.encode(&mut e);
        e.u64(self.epoch);
        e.text(&self.software);
        e.array(usize::from(self.takes_zstd));
        if self.takes_zstd {
            e.u64(ZSTD.into());
        }
        e.u64(self.window.into());
        e.u64(self.max_message_bytes.into());
        e.u64(self.clock_ms);
        e.into_bytes()
    }

    /// Reads the body of the frame. If the protocol version differs, only the version is read.
    pub fn parse(body: &[u8]) -> Result<Self, HelloError> {
        let mut d = Decoder::new(body);
        let fields = d.array()?;
        let version = d.u32()?;
        if version != PROTOCOL_VERSION {
            return Err(HelloError::Version(version));
        }
        if fields != 8 {
            return Err(d.invalid("a hello has eight fields").into());
        }
        let party = PartyId::decode(&mut d)?;
        let epoch = d.u64()?;
        let software = d.text_within(4 * SOFTWARE_CHARS_MAX)?;
        if software.chars().any(char::is_control) {
            return Err(d
                .invalid("a software version has no control characters")
                .into());
        }
        let mut takes_zstd = false;
        for _ in 0..d.array_within(COMPRESSIONS_MAX)? {
            takes_zstd |= d.u8()? == ZSTD;
        }
        let (window, max_message_bytes) = (d.u32()?, d.u32()?);
        let clock_ms = d.u64()?;
        d.finish()?;
        if window == 0 || window as usize > usize::MAX / (2 * STREAMS_MAX) {
            return Err(d.invalid("a window has at least one byte").into());
        }
        let software = software.to_owned();
        Ok(Self {
            party,
            epoch,
            software,
            takes_zstd,
            window,
            max_message_bytes,
            clock_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            party: PartyId::from_array([7; 32]),
            epoch: u64::MAX,
            software: "tally 0.1.0".into(),
            takes_zstd: true,
            window: 1 << 20,
            max_message_bytes: 10 << 20,
            clock_ms: 1_700_000_000_000,
        }
    }

    #[test]
    fn comes_back() {
        for hello in [
            hello(),
            Hello {
                takes_zstd: false,
                epoch: 0,
                ..hello()
            },
        ] {
            assert_eq!(Hello::parse(&hello.to_bytes()), Ok(hello));
        }
    }

    #[test]
    fn refused() {
        let good = hello().to_bytes();
        let mut other_version = good.clone();
        other_version[1] = 2;
        assert_eq!(Hello::parse(&other_version), Err(HelloError::Version(2)));
        assert_eq!(HelloError::Version(2).code(), "net.version_mismatch");
        let mut trailing = good.clone();
        trailing.push(0);
        let damaged = [
            vec![],
            good[..good.len() - 1].to_vec(),
            trailing,
            Hello {
                window: 0,
                ..hello()
            }
            .to_bytes(),
            Hello {
                software: "a\nb".into(),
                ..hello()
            }
            .to_bytes(),
            Hello {
                software: "x".repeat(500),
                ..hello()
            }
            .to_bytes(),
        ];
        for bytes in damaged {
            let error = Hello::parse(&bytes).expect_err("damaged");
            assert_eq!(error.code(), "net.bad_hello", "{bytes:02x?}");
        }
    }
}
