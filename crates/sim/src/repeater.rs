//! A planted bug that sends the second message of each side of a session twice, as two messages. All later messages of the
//! session and of the stream between the two nodes get numbers that are higher by one, so that the repetition looks like a
//! message of its own.

use std::collections::{BTreeMap, BTreeSet};

use flow::{SessionBody, SessionId, SessionMessage};
use kernel::message::PeerMessage;
use primitives::{Decode, Encode};

use crate::membership::NODES;

/// The messages from one node to another.
#[derive(Default)]
struct Stream {
    /// The copies that each message was sent as, with the number of the last copy, by the original number.
    sent: BTreeMap<u64, (u64, Vec<Vec<u8>>)>,
    extra: u64,
    shifted: BTreeSet<(SessionId, bool)>,
}

/// Repeats messages in all streams.
#[derive(Default)]
pub struct Repeater {
    streams: [[Stream; NODES]; NODES],
}

impl Repeater {
    /// Returns the messages that are sent in place of one message.
    pub fn instead_of(&mut self, from: usize, to: usize, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        match PeerMessage::from_bytes(&bytes) {
            Ok(PeerMessage::Session { seq, body }) => self.streams[from][to].copies(seq, &body),
            Ok(PeerMessage::SessionAck { upto }) => {
                let sent = &self.streams[to][from].sent;
                let known = sent.iter().rev().find(|(_, (last, _))| *last <= upto);
                let upto = known.map_or(0, |(seq, _)| *seq);
                vec![PeerMessage::SessionAck { upto }.to_bytes()]
            }
            _ => vec![bytes],
        }
    }
}

impl Stream {
    fn copies(&mut self, seq: u64, body: &[u8]) -> Vec<Vec<u8>> {
        if !self.sent.contains_key(&seq) {
            let bodies = self.bodies(body);
            let first = seq + self.extra;
            let copies = (first..).zip(bodies);
            let copies: Vec<Vec<u8>> = copies
                .map(|(seq, body)| PeerMessage::Session { seq, body }.to_bytes())
                .collect();
            self.extra += copies.len() as u64 - 1;
            self.sent.insert(seq, (seq + self.extra, copies));
        }
        self.sent[&seq].1.clone()
    }

    fn bodies(&mut self, body: &[u8]) -> Vec<Vec<u8>> {
        let Ok(mut message) = SessionMessage::from_bytes(body) else {
            return vec![body.to_vec()];
        };
        let side = (message.session, message.to_initiator);
        let by = u32::from(self.shifted.contains(&side));
        match &mut message.body {
            SessionBody::Data { index, last, .. } => {
                *index += by;
                if by == 0 && *index == 1 && !*last {
                    let once = message.to_bytes();
                    if let SessionBody::Data { index, .. } = &mut message.body {
                        *index += 1;
                    }
                    self.shifted.insert(side);
                    return vec![once, message.to_bytes()];
                }
            }
            SessionBody::End { index, .. } => *index += by,
            _ => {}
        }
        vec![message.to_bytes()]
    }
}
