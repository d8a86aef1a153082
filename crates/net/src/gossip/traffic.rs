//! Handles the peers' messages, requests and answers.

use std::io::ErrorKind;
use std::time::Instant;

use libp2p_gossipsub::{self as gossipsub, MessageAcceptance};
use libp2p_request_response::{self as request_response, OutboundFailure};
use primitives::Hash;

use super::asked::For;
use super::codec::Question;
use super::network::Network;
use super::peers::words;
use super::service::Service;
use super::{
    GossipEvent, MessageId, PeerId, RATE_POINTS, REQUEST_POINTS, RequestError, Topic, exchange,
};

impl Service {
    pub(super) fn on_gossip(&mut self, event: gossipsub::Event) {
        match event {
            gossipsub::Event::Message {
                propagation_source,
                message_id,
                message,
            } => self.message(&propagation_source, &message_id, message),
            gossipsub::Event::Subscribed { peer_id, topic } => {
                self.subscribed(&peer_id, topic.as_str(), true);
            }
            gossipsub::Event::Unsubscribed { peer_id, topic } => {
                self.subscribed(&peer_id, topic.as_str(), false);
            }
            gossipsub::Event::SlowPeer {
                failed_messages, ..
            } => {
                let dropped = failed_messages.priority + failed_messages.non_priority;
                self.shared.counters.dropped_slow.add(dropped as u64);
            }
            // The reason follows from identify, or the deadline ends the connection.
            gossipsub::Event::GossipsubNotSupported { .. } => {}
        }
    }

    fn message(
        &mut self,
        from: &libp2p_identity::PeerId,
        id: &gossipsub::MessageId,
        message: gossipsub::Message,
    ) {
        let topic = self.names.topic_of(message.topic.as_str());
        let known = (PeerId::of(from), topic, Hash::from_slice(&id.0));
        let (Some(peer), Some(topic), Some(hash)) = known else {
            return;
        };
        self.speaks(peer);
        let mut peers = self.shared.peers();
        let entry = peers.get_mut(&peer);
        let (admitted, ready) = entry.map_or((false, false), |entry| {
            let admitted = entry.admit(message.data.len(), Instant::now());
            entry.messages_in += u64::from(admitted);
            (admitted, entry.announced.is_some())
        });
        drop(peers);
        if !admitted || !ready {
            let gossip = &mut self.swarm.behaviour_mut().gossip;
            gossip.report_message_validation_result(id, from, MessageAcceptance::Ignore);
        }
        if !admitted {
            self.too_much(peer);
            self.penalise(peer, RATE_POINTS, "it sends more than it may");
            return;
        }
        if !ready {
            return;
        }
        match topic {
            Topic::Transactions => self.shared.counters.transactions_in.add(1),
            Topic::Blocks => self.shared.counters.blocks_in.add(1),
        }
        self.outlet.push(GossipEvent::Message {
            peer,
            topic,
            id: MessageId { hash, from: peer },
            bytes: message.data,
        });
    }

    fn too_much(&self, peer: PeerId) {
        self.shared.counters.dropped_rate.add(1);
        tracing::debug!(code = "gossip.rate_exceeded", %peer, "dropped: it sends or asks more than it may");
    }

    pub(super) fn on_requests(&mut self, event: request_response::Event<Question, Vec<u8>>) {
        match event {
            request_response::Event::Message { peer, message, .. } => match message {
                request_response::Message::Request {
                    request_id,
                    request,
                    channel,
                } => {
                    let Some(id) = PeerId::of(&peer) else { return };
                    self.on_request(id, request_id, request, channel);
                }
                request_response::Message::Response {
                    request_id,
                    response,
                } => self.on_answer(&request_id, response),
            },
            request_response::Event::OutboundFailure {
                request_id, error, ..
            } => {
                if let Some((peer, For::Application(id))) = self.asked.end(&request_id) {
                    self.answered(peer, id, Err(failure(error)));
                }
            }
            request_response::Event::InboundFailure { request_id, .. } => {
                self.tickets.forget(request_id);
            }
            request_response::Event::ResponseSent { .. } => {}
        }
    }

    fn on_request(
        &mut self,
        peer: PeerId,
        key: request_response::InboundRequestId,
        question: Question,
        channel: request_response::ResponseChannel<Vec<u8>>,
    ) {
        let bytes = match &question {
            Question::Application(bytes) => bytes.len(),
            Question::Addresses | Question::Malformed => 0,
        };
        if question != Question::Malformed {
            self.speaks(peer);
        }
        let open = self.tickets.of(peer);
        let mut peers = self.shared.peers();
        let Some(entry) = peers.get_mut(&peer) else {
            return;
        };
        let admitted = entry.admit(bytes, Instant::now());
        let ready = entry.announced.is_some();
        let has_room = open < self.options.limits.requests_in_max;
        let is_application = matches!(question, Question::Application(_));
        entry.requests_in += u64::from(is_application && admitted && ready && has_room);
        let reachable: Vec<_> = match question {
            Question::Addresses if admitted => {
                let others = peers.reachable().filter(|(other, _)| *other != peer);
                others.take(exchange::TOLD_MAX).collect()
            }
            _ => Vec::new(),
        };
        drop(peers);
        if !admitted {
            self.too_much(peer);
            self.penalise(peer, RATE_POINTS, "it asks more than it may");
            return;
        }
        match question {
            Question::Addresses => {
                let told = exchange::encode(reachable.into_iter());
                let requests = &mut self.swarm.behaviour_mut().requests;
                // An error means that the peer has given up the request.
                let _ = requests.send_response(channel, told);
            }
            Question::Application(bytes) if ready && has_room => {
                self.shared.counters.requests_in.add(1);
                let ticket = self.tickets.issue(peer, key, channel);
                self.outlet.push(GossipEvent::Request {
                    peer,
                    ticket,
                    bytes,
                });
            }
            Question::Malformed => {
                self.shared.counters.requests_refused.add(1);
                self.penalise(peer, REQUEST_POINTS, "it sent a malformed request");
            }
            Question::Application(_) => {
                self.shared.counters.requests_refused.add(1);
                self.penalise(peer, RATE_POINTS, "it asks too much at once");
            }
        }
    }

    fn on_answer(&mut self, key: &request_response::OutboundRequestId, answer: Vec<u8>) {
        let ended = self.asked.end(key);
        if let Some((peer, _)) = &ended
            && let Some(entry) = self.shared.peers().get_mut(peer)
        {
            entry.uses(answer.len());
            // Clipped at the largest use.
            entry.useful = entry.useful.saturating_add(1);
        }
        match ended {
            Some((peer, For::Application(id))) => self.answered(peer, id, Ok(answer)),
            Some((peer, For::Addresses)) => self.learn(peer, &answer),
            Some((_, For::Nobody)) | None => {}
        }
    }

    /// Learns the addresses in a peer's answer. Addresses on this machine or in a private network are believed only of a
    /// peer there.
    fn learn(&mut self, from: PeerId, answer: &[u8]) {
        let now = Instant::now();
        let peers = self.shared.peers();
        let connections = peers.get(&from).map(|known| &known.connections);
        let Some(first) = connections.and_then(|connections| connections.first()) else {
            return;
        };
        let teller = Network::of(first.remote.ip());
        drop(peers);
        // A malformed answer contains no addresses.
        for (peer, address) in exchange::decode(answer).unwrap_or_default() {
            let is_reachable = match Network::of(address.ip()) {
                Network::Local => teller == Network::Local,
                network => teller.is_near() || !network.is_near(),
            };
            if peer != self.me && peer != from && is_reachable {
                self.book.learn(peer, address, teller, now);
            }
        }
    }
}

fn failure(error: OutboundFailure) -> RequestError {
    match error {
        OutboundFailure::DialFailure | OutboundFailure::ConnectionClosed => {
            RequestError::NotConnected
        }
        OutboundFailure::Timeout => RequestError::Deadline(super::REQUEST_PATIENCE),
        OutboundFailure::UnsupportedProtocols => {
            RequestError::NoAnswer("it takes no requests".into())
        }
        OutboundFailure::Io(error) if error.kind() == ErrorKind::OutOfMemory => {
            RequestError::NoRoom
        }
        OutboundFailure::Io(error) => RequestError::NoAnswer(words(&error.to_string())),
    }
}
