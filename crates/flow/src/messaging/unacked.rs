//! The answers to the sessions of each peer that the peer has not acknowledged.
//!
//! An answer is a row of the outbox until it is acknowledged. A peer can open a session and end it after the first answer, again and
//! again, so nothing else bounds these rows. Messages of this node's own flows are not counted.
//!
//! # Invariants
//! - An answer counts until the peer has acknowledged it, also after a restart. One that is acknowledged may count a little longer,
//!   because answers are summed up in parts.
//! - Memory holds one entry for each part, and none for a peer that has acknowledged everything.

use std::collections::{BTreeMap, VecDeque};

use ledger::PartyId;

use crate::FlowError;
use crate::error::SHARE_EXCEEDED;

/// Number of unacknowledged answers to the sessions of one peer, from which on its new sessions are refused, and a message on an open one
/// ends that session (`flow.share_exceeded`).
pub const UNACKED_ANSWERS_MAX: u64 = 50_000;
/// Size of the unacknowledged answers to the sessions of one peer, in bytes, from which on the same happens (`flow.share_exceeded`). The
/// answers of flows that already have their message come on top.
pub const UNACKED_ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Number of answers in a full part. The next answer begins another one.
const PART_ANSWERS: u64 = 256;
/// Size of the answers in a full part, in bytes. The next answer begins another one.
const PART_BYTES: u64 = 256 << 10;

/// The unacknowledged answers to the sessions of each peer.
#[derive(Debug, Default)]
pub struct UnackedAnswers {
    peers: BTreeMap<PartyId, PeerAnswers>,
}

/// The unacknowledged answers to one peer.
#[derive(Debug, Default)]
struct PeerAnswers {
    /// In the order of their numbers. None is empty.
    parts: VecDeque<Part>,
    count: u64,
    bytes: u64,
}

/// The sum of some answers in a row.
#[derive(Debug)]
struct Part {
    /// The number of the last of them.
    last: u64,
    count: u64,
    bytes: u64,
}

impl UnackedAnswers {
    /// Adds an answer under its number in the peer's stream, which is greater than all before it.
    pub fn add(&mut self, peer: PartyId, seq: u64, bytes: usize) {
        let bytes = bytes as u64;
        let answers = self.peers.entry(peer).or_default();
        let last = answers.parts.back().map_or(0, |part| part.last);
        assert!(
            seq > last,
            "answer {seq} to {peer} comes after answer {last}"
        );
        match answers.parts.back_mut() {
            Some(part) if part.count < PART_ANSWERS && part.bytes < PART_BYTES => {
                part.last = seq;
                part.count += 1;
                part.bytes += bytes;
            }
            _ => answers.parts.push_back(Part {
                last: seq,
                count: 1,
                bytes,
            }),
        }
        answers.count += 1;
        answers.bytes += bytes;
    }

    /// Notes that a peer has acknowledged every message up to a number.
    pub fn acked(&mut self, peer: &PartyId, upto: u64) {
        let Some(answers) = self.peers.get_mut(peer) else {
            return;
        };
        while let Some(part) = answers.parts.pop_front_if(|part| part.last <= upto) {
            answers.count -= part.count;
            answers.bytes -= part.bytes;
        }
        if answers.parts.is_empty() {
            assert!(
                answers.count == 0 && answers.bytes == 0,
                "{} answers of {} bytes to {peer} are in no part",
                answers.count,
                answers.bytes
            );
            self.peers.remove(peer);
        }
    }

    /// Forgets the answers to a peer, because their rows are deleted.
    pub fn forget(&mut self, peer: &PartyId) {
        self.peers.remove(peer);
    }

    /// Decides whether a peer may cause further answers.
    ///
    /// # Errors
    /// `flow.share_exceeded` if it leaves too many unacknowledged.
    pub fn check(&self, peer: &PartyId) -> Result<(), FlowError> {
        let Some(answers) = self.peers.get(peer) else {
            return Ok(());
        };
        let (count, bytes) = (answers.count, answers.bytes);
        if count < UNACKED_ANSWERS_MAX && bytes < UNACKED_ANSWER_BYTES_MAX {
            return Ok(());
        }
        let text = format!(
            "this peer has left {count} answers of {bytes} bytes together unacknowledged, and may leave {UNACKED_ANSWERS_MAX} of {UNACKED_ANSWER_BYTES_MAX} bytes"
        );
        Err(FlowError::listed(&SHARE_EXCEEDED, text))
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    fn peer(name: &str) -> PartyId {
        PartyId::from_hash(Hash::plain(name.as_bytes()))
    }

    fn is_refused(answers: &UnackedAnswers, name: &str) -> bool {
        match answers.check(&peer(name)) {
            Ok(()) => false,
            Err(error) => error.code == SHARE_EXCEEDED.code,
        }
    }

    #[test]
    fn a_peer_is_refused_until_it_acknowledges() {
        let max = usize::try_from(UNACKED_ANSWER_BYTES_MAX).expect("64 bits");
        let count = usize::try_from(UNACKED_ANSWERS_MAX).expect("64 bits");
        // Answers and their size: the number after which the peer is refused.
        for (sent, bytes, refused_after) in [
            (17, 4_000_000, Some(17)),
            (16, 4_000_000, None),
            (1, max, Some(1)),
            (1, max - 1, None),
            (count, 10, Some(count)),
            (count - 1, 10, None),
        ] {
            let line = format!("{sent} of {bytes} bytes");
            let mut answers = UnackedAnswers::default();
            let mut refused = None;
            for n in 1..=sent {
                // Other messages have the numbers between.
                answers.add(peer("a"), 2 * n as u64, bytes);
                if refused.is_none() && is_refused(&answers, "a") {
                    refused = Some(n);
                }
            }
            assert_eq!(refused, refused_after, "{line}");
            assert!(!is_refused(&answers, "b"), "{line}");
            let last = 2 * sent as u64;
            answers.acked(&peer("a"), last - 1);
            let left = &answers.peers[&peer("a")];
            assert!(
                left.count <= PART_ANSWERS && left.bytes <= PART_BYTES + bytes as u64,
                "{line}: {left:?}"
            );
            answers.acked(&peer("a"), last);
            assert!(answers.peers.is_empty(), "{line}");
        }
    }

    #[test]
    fn forgotten_answers_do_not_count() {
        let mut answers = UnackedAnswers::default();
        let bytes = usize::try_from(UNACKED_ANSWER_BYTES_MAX).expect("64 bits");
        answers.add(peer("a"), 9, bytes);
        answers.acked(&peer("a"), 8);
        assert!(is_refused(&answers, "a"));
        answers.forget(&peer("a"));
        assert!(!is_refused(&answers, "a"));
        // The numbers of a new stream may begin anywhere.
        answers.add(peer("a"), 3, 1);
        assert!(!is_refused(&answers, "a"));
    }
}
