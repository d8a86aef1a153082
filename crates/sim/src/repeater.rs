//! A planted bug: a session message is sent twice, as two messages of the stream, and everything after it one number later.

use kernel::message::PeerMessage;
use primitives::{Decode, Encode};

use crate::town::NODES;

/// See the module.
#[derive(Default)]
pub struct Repeater {
    /// By sender and receiver: the message that was repeated.
    repeated: [[Option<u64>; NODES]; NODES],
}

impl Repeater {
    /// What is sent in place of a message.
    pub fn instead_of(&mut self, from: usize, to: usize, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let encoded = |seq: u64, body: &[u8]| {
            let body = body.to_vec();
            PeerMessage::Session { seq, body }.to_bytes()
        };
        match PeerMessage::from_bytes(&bytes) {
            Ok(PeerMessage::Session { seq, body }) => {
                let repeated = &mut self.repeated[from][to];
                // Not the first ones, which open sessions.
                if repeated.is_none() && seq > 5 {
                    *repeated = Some(seq);
                }
                match *repeated {
                    Some(at) if seq == at => vec![encoded(seq, &body), encoded(seq + 1, &body)],
                    Some(at) if seq > at => vec![encoded(seq + 1, &body)],
                    _ => vec![bytes],
                }
            }
            Ok(PeerMessage::SessionAck { upto }) => match self.repeated[to][from] {
                Some(at) if upto > at => {
                    vec![PeerMessage::SessionAck { upto: upto - 1 }.to_bytes()]
                }
                _ => vec![bytes],
            },
            _ => vec![bytes],
        }
    }
}
