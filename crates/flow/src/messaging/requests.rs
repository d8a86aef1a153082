//! Outstanding requests to other nodes' services. They are sent until answered, by timer and whenever the peer
//! reconnects.
//!
//! Requests are idempotent at the server and recorded in the asking flow's journal, so nothing here is durable. After a
//! restart the flows ask again under the same ids.
//!
//! # Invariants
//! - At most `in_flight_max` requests are in flight to one peer; the others wait in the order asked.
//! - A request is removed only when it is answered or its flow no longer waits for it.

use std::collections::{BTreeMap, BTreeSet};

use ledger::PartyId;
use primitives::Monotonic;
use primitives::collections::HashMap;

use super::BackOff;
use crate::digest::Digest;
use crate::{FlowId, Service};

/// Shortest pause before a request that a server asked to wait is sent again, in milliseconds.
const WAIT_MIN_MS: u64 = 10;

/// Limits of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestOptions {
    /// Maximum number of requests in flight to one peer.
    pub in_flight_max: usize,
    /// The delay after which an unanswered request is sent again.
    pub resend: BackOff,
}

impl Default for RequestOptions {
    fn default() -> RequestOptions {
        RequestOptions {
            in_flight_max: 4_096,
            resend: BackOff {
                first_ms: 30_000,
                max_ms: 600_000,
            },
        }
    }
}

/// The id of a request, the same after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// The asking flow.
    pub flow: FlowId,
    /// The number of its effect.
    pub effect: u32,
}

primitives::record!(RequestId { flow, effect });

/// The actions that the requests need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestAction {
    /// Send a request, once the batch of its round is durable.
    Send {
        /// The peer.
        peer: PartyId,
        /// The request.
        id: RequestId,
        /// The service.
        service: Service,
        /// Its arguments.
        body: Vec<u8>,
    },
}

/// All outstanding requests.
#[derive(Debug, Default)]
pub struct Requests {
    options: RequestOptions,
    peers: BTreeMap<PartyId, Peer>,
    outstanding: HashMap<RequestId, Outstanding>,
    by_flow: BTreeSet<RequestId>,
    deadlines: BTreeSet<(Monotonic, RequestId)>,
    asked: u64,
}

#[derive(Debug, Default)]
struct Peer {
    up: bool,
    in_flight: usize,
    /// Requests not sent since the peer connected, in the order asked.
    queue: BTreeMap<u64, RequestId>,
}

#[derive(Debug)]
struct Outstanding {
    peer: PartyId,
    service: Service,
    body: Vec<u8>,
    order: u64,
    in_flight: bool,
    /// Repetitions after silence. They determine the next resend.
    attempts: u32,
    /// Answers that asked to wait. They determine the next pause.
    waits: u32,
    /// The latest answer asked to wait, so the next repetition follows no silence.
    is_told_to_wait: bool,
    deadline: Option<Monotonic>,
}

impl Requests {
    /// Creates an empty set of requests.
    pub fn new(options: RequestOptions) -> Requests {
        Requests {
            options,
            ..Requests::default()
        }
    }

    /// Adds a request. A second request under the same id is ignored.
    pub fn ask(
        &mut self,
        id: RequestId,
        peer: PartyId,
        service: Service,
        body: Vec<u8>,
        now: Monotonic,
        out: &mut Vec<RequestAction>,
    ) {
        if self.outstanding.contains_key(&id) {
            return;
        }
        let order = self.asked;
        self.asked += 1;
        let request = Outstanding {
            peer,
            service,
            body,
            order,
            in_flight: false,
            attempts: 0,
            waits: 0,
            is_told_to_wait: false,
            deadline: None,
        };
        self.outstanding.insert(id, request);
        self.by_flow.insert(id);
        self.peers.entry(peer).or_default().queue.insert(order, id);
        self.fill(peer, now, out);
    }

    /// Takes an answer from a peer. Returns whether it answers an outstanding request to that peer.
    pub fn answered(
        &mut self,
        id: &RequestId,
        peer: &PartyId,
        now: Monotonic,
        out: &mut Vec<RequestAction>,
    ) -> bool {
        if self
            .outstanding
            .get(id)
            .is_none_or(|request| request.peer != *peer)
        {
            return false;
        }
        self.remove(id);
        self.fill(*peer, now, out);
        true
    }

    /// Delays the next repetition: the server has not taken the request, and asks for it again after `eta_ms`. Repeated requests to
    /// wait lengthen the delay, so a server cannot make this node ask without a pause.
    pub fn wait(&mut self, id: &RequestId, peer: &PartyId, eta_ms: u64, now: Monotonic) {
        let Some(request) = self.outstanding.get_mut(id) else {
            return;
        };
        if request.peer != *peer || !request.in_flight {
            return;
        }
        let max_ms = self.options.resend.max_ms;
        let pause = BackOff {
            first_ms: eta_ms.max(WAIT_MIN_MS),
            max_ms,
        };
        let delay = pause.delay_ms(request.waits, jitter(id));
        // Clipped far beyond the longest pause.
        request.waits = request.waits.saturating_add(1);
        request.is_told_to_wait = true;
        // Never before the time that the server names.
        let at = now.after_ms(delay.max(eta_ms.min(max_ms)));
        if let Some(old) = request.deadline.replace(at) {
            self.deadlines.remove(&(old, *id));
        }
        self.deadlines.insert((at, *id));
    }

    /// Removes a request whose flow no longer waits for the answer.
    pub fn cancel(&mut self, id: &RequestId, now: Monotonic, out: &mut Vec<RequestAction>) {
        if let Some(peer) = self.remove(id) {
            self.fill(peer, now, out);
        }
    }

    /// Removes all requests of a flow that has ended.
    pub fn cancel_flow(&mut self, flow: FlowId, now: Monotonic, out: &mut Vec<RequestAction>) {
        let first = RequestId { flow, effect: 0 };
        let last = RequestId {
            flow,
            effect: u32::MAX,
        };
        let ids: Vec<RequestId> = self.by_flow.range(first..=last).copied().collect();
        ids.iter().for_each(|id| self.cancel(id, now, out));
    }

    /// Notes that the peer is connected, and sends all unanswered requests, up to the cap.
    pub fn peer_up(&mut self, peer: PartyId, now: Monotonic, out: &mut Vec<RequestAction>) {
        self.peer_down(peer);
        self.peers.entry(peer).or_default().up = true;
        self.fill(peer, now, out);
    }

    /// Notes that the peer is away: its requests in flight return to the queue, in the order asked.
    pub fn peer_down(&mut self, peer: PartyId) {
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        known.up = false;
        known.in_flight = 0;
        for (id, request) in &mut self.outstanding {
            if request.peer == peer && request.in_flight {
                request.in_flight = false;
                known.queue.insert(request.order, *id);
                if let Some(at) = request.deadline.take() {
                    self.deadlines.remove(&(at, *id));
                }
            }
        }
    }

    /// Returns the next moment at which [`timer`](Requests::timer) has work to do.
    pub fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Sends requests again that were not answered in time.
    pub fn timer(&mut self, now: Monotonic, out: &mut Vec<RequestAction>) {
        while let Some((at, id)) = self.deadlines.first().copied() {
            if at > now {
                break;
            }
            self.deadlines.remove(&(at, id));
            if let Some(request) = self.outstanding.get_mut(&id) {
                if !std::mem::take(&mut request.is_told_to_wait) {
                    request.attempts += 1;
                }
                self.send(id, now, out);
            }
        }
    }

    /// Counts the requests not answered, for a gauge.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Sends from the queue, up to the cap.
    fn fill(&mut self, peer: PartyId, now: Monotonic, out: &mut Vec<RequestAction>) {
        loop {
            let Some(known) = self.peers.get_mut(&peer) else {
                return;
            };
            if !known.up || known.in_flight >= self.options.in_flight_max {
                return;
            }
            let Some((_, id)) = known.queue.pop_first() else {
                return;
            };
            known.in_flight += 1;
            self.send(id, now, out);
        }
    }

    fn send(&mut self, id: RequestId, now: Monotonic, out: &mut Vec<RequestAction>) {
        let back_off = self.options.resend;
        let Some(request) = self.outstanding.get_mut(&id) else {
            return;
        };
        request.in_flight = true;
        let at = now.after_ms(back_off.delay_ms(request.attempts, jitter(&id)).max(1));
        request.deadline = Some(at);
        self.deadlines.insert((at, id));
        let (peer, service, body) = (request.peer, request.service, request.body.clone());
        out.push(RequestAction::Send {
            peer,
            id,
            service,
            body,
        });
    }

    fn remove(&mut self, id: &RequestId) -> Option<PartyId> {
        let request = self.outstanding.remove(id)?;
        self.by_flow.remove(id);
        if let Some(at) = request.deadline {
            self.deadlines.remove(&(at, *id));
        }
        if let Some(known) = self.peers.get_mut(&request.peer) {
            if request.in_flight {
                assert!(known.in_flight > 0, "a request in flight was not counted");
                known.in_flight -= 1;
            } else {
                known.queue.remove(&request.order);
            }
        }
        Some(request.peer)
    }
}

fn jitter(id: &RequestId) -> u64 {
    Digest::new(id.effect.into()).bytes(&id.flow.0).value()
}
