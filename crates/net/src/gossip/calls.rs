//! Carries out the application's calls.

use std::time::{Duration, Instant};

use libp2p_gossipsub::{self as gossipsub, MessageAcceptance, PublishError};

use super::behaviour::REQUEST_PATIENCE;
use super::codec::Question;
use super::handle::Call;
use super::service::Service;
use super::{
    GossipEvent, MessageId, PeerId, REJECTED_POINTS, RequestError, RequestId, Topic, Verdict,
};

/// Delay before an accepted message is passed on. Peers that announce the message in this time get no copy of it. In a fully
/// connected network, these are all peers.
const PASS_ON_AFTER: Duration = Duration::from_millis(5);
/// Maximum number of accepted messages that wait to be passed on. If it is exceeded, all are passed on at once.
const ACCEPTED_MAX: usize = 4_096;

impl Service {
    pub(super) fn on_call(&mut self, call: Call) {
        match call {
            Call::Broadcast(topic, bytes) => self.broadcast(topic, bytes),
            Call::Request {
                id,
                peer,
                bytes,
                deadline,
            } => self.request(id, peer, bytes, deadline),
            Call::Respond(ticket, bytes) => {
                let channel = self.tickets.take(ticket);
                if let (Some(channel), Some(bytes)) = (channel, bytes) {
                    let requests = &mut self.swarm.behaviour_mut().requests;
                    // An error means that the peer has given up the request.
                    if requests.send_response(channel, bytes).is_ok() {
                        self.shared.counters.answers_out.add(1);
                    }
                }
            }
            Call::Verdict(message, verdict) => self.verdict(message, verdict),
            Call::Penalise(peer, points, reason) => self.penalise(peer, points, &reason),
            Call::Ban(peer, time, reason) => self.ban(peer, time, &reason),
            Call::Disconnect(peer, reason) => self.dismiss(peer, &reason),
            Call::Unban(peer) => {
                if let Some(peer) = self.shared.peers().get_mut(&peer) {
                    peer.unban();
                }
                self.tell_score(peer, 0);
            }
        }
    }

    fn broadcast(&mut self, topic: Topic, bytes: Vec<u8>) {
        let hash = self.topics[topic.index()].clone();
        let counters = &self.shared.counters;
        let counter = match self.swarm.behaviour_mut().gossip.publish(hash, bytes) {
            Ok(_) => match topic {
                Topic::Transactions => &counters.transactions_out,
                Topic::Blocks => &counters.blocks_out,
            },
            Err(PublishError::Duplicate) => &counters.duplicates,
            Err(PublishError::NoPeersSubscribedToTopic) => &counters.unheard,
            // The size was checked and nothing is signed, so the only other cause is that all queues are full.
            Err(_) => &counters.dropped_full,
        };
        counter.add(1);
    }

    fn verdict(&mut self, message: MessageId, verdict: Verdict) {
        let counters = &self.shared.counters;
        match verdict {
            Verdict::Accept => {
                counters.accepted.add(1);
                if let Some(peer) = self.shared.peers().get_mut(&message.from) {
                    // Clipped at the largest use.
                    peer.useful = peer.useful.saturating_add(1);
                }
                self.accepted
                    .push_back((Instant::now() + PASS_ON_AFTER, message));
                if self.accepted.len() > ACCEPTED_MAX {
                    self.pass_on(Instant::now() + PASS_ON_AFTER);
                }
            }
            Verdict::Ignore => {
                counters.ignored.add(1);
                self.report(&message, MessageAcceptance::Ignore);
            }
            Verdict::Reject => {
                counters.rejected.add(1);
                self.report(&message, MessageAcceptance::Reject);
                if let Some(peer) = self.shared.peers().get_mut(&message.from) {
                    peer.rejected += 1;
                }
                self.penalise(
                    message.from,
                    REJECTED_POINTS,
                    "it sent a message that is wrong",
                );
            }
        }
    }

    /// Passes on accepted messages that have waited for long enough.
    pub(super) fn pass_on(&mut self, now: Instant) {
        while let Some((due, message)) = self.accepted.front()
            && *due <= now
        {
            let message = *message;
            self.accepted.pop_front();
            self.report(&message, MessageAcceptance::Accept);
        }
    }

    fn report(&mut self, message: &MessageId, acceptance: MessageAcceptance) {
        let Some(from) = message.from.to_libp2p() else {
            return;
        };
        let id = gossipsub::MessageId::new(message.hash.as_bytes());
        let gossip = &mut self.swarm.behaviour_mut().gossip;
        if !gossip.report_message_validation_result(&id, &from, acceptance) {
            self.shared.counters.late_verdicts.add(1);
        }
    }

    fn request(&mut self, id: RequestId, peer: PeerId, bytes: Vec<u8>, deadline: Duration) {
        let limits = &self.options.limits;
        let (of_peer, of_all) = (self.asked.of(peer), self.asked.len());
        let refused = if of_peer >= limits.requests_out_max {
            Some(RequestError::TooMany(of_peer))
        } else if of_all >= limits.requests_max {
            Some(RequestError::TooMany(of_all))
        } else if !self.is_announced(peer) {
            Some(RequestError::NotConnected)
        } else {
            None
        };
        match refused {
            Some(error) => self.answered(peer, id, Err(error)),
            None => {
                self.shared.counters.requests_out.add(1);
                if let Some(peer) = self.shared.peers().get_mut(&peer) {
                    peer.requests_out += 1;
                }
                let deadline = deadline.min(REQUEST_PATIENCE);
                self.ask(peer, Question::Application(bytes), Some((id, deadline)));
            }
        }
    }

    pub(super) fn ask(
        &mut self,
        peer: PeerId,
        question: Question,
        id: Option<(RequestId, Duration)>,
    ) {
        let Some(remote) = peer.to_libp2p() else {
            return;
        };
        let requests = &mut self.swarm.behaviour_mut().requests;
        let key = requests.send_request(&remote, question);
        self.asked.add(key, peer, id, Instant::now());
    }

    pub(super) fn answered(
        &mut self,
        peer: PeerId,
        request: RequestId,
        result: Result<Vec<u8>, RequestError>,
    ) {
        if result.is_err() {
            self.shared.counters.requests_failed.add(1);
        }
        self.outlet.push(GossipEvent::Response {
            peer,
            request,
            result,
        });
    }

    pub(super) fn is_announced(&self, peer: PeerId) -> bool {
        let peers = self.shared.peers();
        peers
            .get(&peer)
            .is_some_and(|peer| peer.announced.is_some())
    }
}
