//! Ids of flows and sessions.

use std::fmt;
use std::str::FromStr;

use ledger::PartyId;
use primitives::{Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash};

/// The id of one run of a flow on one node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub [u8; 16]);

impl FlowId {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Derives the id of a flow started by a client from a seed drawn by the shell, or from the client's own id.
    pub fn derive(parts: &[&[u8]]) -> FlowId {
        let hash = Hash::of(Domain::Derive, parts);
        let mut id = [0; 16];
        id.copy_from_slice(&hash.as_bytes()[..16]);
        FlowId(id)
    }

    /// Derives the id of the responder that answers a session. Every copy of the opening message gives the same id.
    pub fn responder(peer: &PartyId, session: &SessionId) -> FlowId {
        FlowId::derive(&[
            b"responder",
            peer.as_bytes(),
            &session.initiator.0,
            &session.number.to_be_bytes(),
        ])
    }
}

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FlowId({self})")
    }
}

/// The text is not 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a flow id is 32 hexadecimal digits")]
pub struct ParseFlowIdError;

impl FromStr for FlowId {
    type Err = ParseFlowIdError;

    fn from_str(text: &str) -> Result<FlowId, ParseFlowIdError> {
        let digits = text.as_bytes();
        if digits.len() != 32 {
            return Err(ParseFlowIdError);
        }
        let digit = |b: u8| (b as char).to_digit(16).ok_or(ParseFlowIdError);
        let mut id = [0; 16];
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Ok(FlowId(id))
    }
}

impl Encode for FlowId {
    fn encode(&self, e: &mut Encoder) {
        e.bytes(&self.0);
    }
}

impl Decode for FlowId {
    fn decode(d: &mut Decoder<'_>) -> Result<FlowId, DecodeError> {
        Ok(FlowId(<[u8; 16]>::decode(d)?))
    }
}

/// The id of a session: the flow that opened it and the number under which it was opened. Both sides use the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId {
    /// The flow that opened the session, on the node that opened it.
    pub initiator: FlowId,
    /// The number of the effect that opened it.
    pub number: u32,
}

primitives::record!(SessionId { initiator, number });
