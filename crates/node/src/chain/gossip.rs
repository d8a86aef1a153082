//! Between the core and the gossip transport: numbers and types of the one become those of the other.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chain::core::{Event, PeerId, RequestFailure, Ticket, Verdict};
use net::gossip::{self, GossipEvent, GossipHandle, RequestError, Topic};

/// Messages and questions that wait for the core at most; the oldest are given up.
const WAITING_MAX: usize = 1 << 16;
/// The kind byte of gossiped transactions (`docs/formats/chain-messages.md`).
const TRANSACTIONS: u8 = 1;

/// Sends the core's messages.
pub(super) struct Peers {
    handle: GossipHandle,
    state: Mutex<GossipTables>,
}

#[derive(Default)]
struct GossipTables {
    /// The ids of messages, by this node's numbers.
    messages: Numbered<gossip::MessageId>,
    questions: Numbered<gossip::Ticket>,
    /// The core's tickets, by the transport's requests.
    asked: HashMap<gossip::RequestId, Ticket>,
}

/// Things by number, the oldest first to go.
struct Numbered<T> {
    things: std::collections::BTreeMap<Ticket, T>,
    next: Ticket,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            things: std::collections::BTreeMap::new(),
            next: 1,
        }
    }
}

impl<T> Numbered<T> {
    fn put(&mut self, thing: T) -> Ticket {
        let number = self.next;
        self.next += 1;
        self.things.insert(number, thing);
        if self.things.len() > WAITING_MAX {
            self.things.pop_first();
        }
        number
    }
}

impl Peers {
    pub(super) fn new(handle: GossipHandle) -> Self {
        Self {
            handle,
            state: Mutex::default(),
        }
    }

    pub(super) fn handle(&self) -> &GossipHandle {
        &self.handle
    }

    pub(super) fn broadcast(&self, bytes: Vec<u8>) {
        let topic = match bytes.first() {
            Some(&TRANSACTIONS) => Topic::Transactions,
            _ => Topic::Blocks,
        };
        if let Err(error) = self.handle.broadcast(topic, bytes) {
            tracing::debug!(%topic, %error, "a message is not gossiped");
        }
    }

    pub(super) fn verdict(&self, message: Ticket, verdict: Verdict) {
        let Some(id) = self.lock().messages.things.remove(&message) else {
            return;
        };
        let verdict = match verdict {
            Verdict::Accept => gossip::Verdict::Accept,
            Verdict::Ignore => gossip::Verdict::Ignore,
            Verdict::Reject => gossip::Verdict::Reject,
        };
        if let Err(error) = self.handle.verdict(id, verdict) {
            tracing::debug!(%error, "a message is not passed on");
        }
    }

    /// Sends a request. Returns an event if it fails at once.
    pub(super) fn ask(
        &self,
        peer: PeerId,
        ticket: Ticket,
        bytes: Vec<u8>,
        patience: Duration,
    ) -> Option<Event> {
        // Held while asking: the answer may come before the request's number is known here.
        let mut state = self.lock();
        match self.handle.request(transport(peer), bytes, patience) {
            Ok(request) => {
                state.asked.insert(request, ticket);
                None
            }
            Err(error) => {
                tracing::debug!(%peer, %error, "a question is not sent");
                Some(Event::Answered {
                    peer,
                    ticket,
                    result: Err(RequestFailure::NoRoom),
                })
            }
        }
    }

    pub(super) fn answer(&self, ticket: Ticket, bytes: Vec<u8>) {
        let Some(question) = self.lock().questions.things.remove(&ticket) else {
            return;
        };
        if let Err(error) = self.handle.respond(question, bytes) {
            tracing::debug!(%error, "an answer is not sent");
            // A refusal spares the peer the wait for an answer.
            let _ = self.handle.refuse(question);
        }
    }

    pub(super) fn penalise(&self, peer: PeerId, points: u32, reason: &str) {
        if let Err(error) = self.handle.penalise(transport(peer), points, reason) {
            tracing::debug!(%peer, %error, "a penalty is lost");
        }
    }

    pub(super) fn disconnect(&self, peer: PeerId, reason: &str) {
        if let Err(error) = self.handle.disconnect(transport(peer), reason) {
            tracing::debug!(%peer, %error, "a peer stays connected");
        }
    }

    /// Returns the event for the core, or `None` for a response that the core no longer waits for.
    pub(super) fn event(&self, event: GossipEvent) -> Option<Event> {
        Some(match event {
            GossipEvent::Connected { peer, address } => {
                tracing::info!(%peer, %address, "a peer is connected");
                Event::PeerUp(ours(peer))
            }
            GossipEvent::Disconnected { peer } => {
                tracing::info!(%peer, "a peer is gone");
                Event::PeerDown(ours(peer))
            }
            GossipEvent::Message {
                peer, id, bytes, ..
            } => Event::Gossip {
                peer: ours(peer),
                message: self.lock().messages.put(id),
                bytes,
            },
            GossipEvent::Request {
                peer,
                ticket,
                bytes,
            } => Event::Asked {
                peer: ours(peer),
                ticket: self.lock().questions.put(ticket),
                bytes,
            },
            GossipEvent::Response {
                peer,
                request,
                result,
            } => Event::Answered {
                peer: ours(peer),
                ticket: self.lock().asked.remove(&request)?,
                result: result.map_err(failure),
            },
        })
    }

    fn lock(&self) -> MutexGuard<'_, GossipTables> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn transport(peer: PeerId) -> gossip::PeerId {
    gossip::PeerId::from_bytes(peer.0)
}

fn ours(peer: gossip::PeerId) -> PeerId {
    PeerId(*peer.as_bytes())
}

fn failure(error: RequestError) -> RequestFailure {
    match error {
        RequestError::Deadline(_) => RequestFailure::Late,
        RequestError::NotConnected => RequestFailure::Gone,
        RequestError::TooMany(_) | RequestError::NoRoom => RequestFailure::NoRoom,
        RequestError::NoAnswer(_) => RequestFailure::Refused,
    }
}

#[cfg(test)]
mod tests {
    use chain::core::limits;
    use chain::message::{ANSWER_BYTES_MAX, GOSSIP_BYTES_MAX, QUESTION_BYTES_MAX};
    use net::gossip::{GossipLimits, REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX};

    use super::*;

    #[test]
    fn the_transport_has_room_for_whatever_the_core_says_and_asks() {
        let transport = GossipLimits::default();
        let cases = [
            ("an answer", ANSWER_BYTES_MAX, RESPONSE_BYTES_MAX),
            (
                "a waiting answer",
                ANSWER_BYTES_MAX,
                transport.calls_bytes_max,
            ),
            ("a question", QUESTION_BYTES_MAX, REQUEST_BYTES_MAX),
            (
                "a message",
                GOSSIP_BYTES_MAX,
                net::gossip::TRANSACTIONS_BYTES_MAX,
            ),
            ("questions", limits::QUESTIONS_MAX, transport.requests_max),
            (
                "questions to a peer",
                limits::QUESTIONS_PER_PEER_MAX,
                transport.requests_out_max,
            ),
            (
                "questions of a peer",
                limits::QUESTIONS_PER_PEER_MAX,
                transport.requests_in_max,
            ),
        ];
        for (what, core, transport) in cases {
            assert!(core <= transport, "{what}: {core} of {transport}");
        }
    }

    #[test]
    fn what_this_node_refuses_itself_is_no_fault_of_the_peer() {
        let cases = [
            (RequestError::TooMany(8), RequestFailure::NoRoom),
            (RequestError::NoRoom, RequestFailure::NoRoom),
            (RequestError::NoAnswer("no".into()), RequestFailure::Refused),
            (RequestError::NotConnected, RequestFailure::Gone),
            (RequestError::Deadline(Duration::ZERO), RequestFailure::Late),
        ];
        for (error, expected) in cases {
            assert_eq!(failure(error), expected);
        }
    }
}
