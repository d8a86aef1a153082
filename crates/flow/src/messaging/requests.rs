//! Outstanding requests to other nodes' services. They are sent until answered, by timer and whenever the peer
//! reconnects.
//!
//! Requests are idempotent at the server and recorded in the asking flow's journal, so nothing here is durable. After a
//! restart the flows ask again under the same ids.
//!
//! A *service* is a party that several peers serve, such as a replicated notary with its workers. A request to it is at one of them,
//! the one with the fewest requests in flight. It moves to another one if the peer is away, answers nothing for
//! [`RequestOptions::silence_ms`], or asks to wait. An answer of any of them counts. A server that answers after it was taken for dead is
//! slow: it gets more time for a while, so that a busy service does not get each request several times.
//!
//! # Invariants
//! - At most `in_flight_max` requests are in flight to one peer; the others wait in the order asked.
//! - A request is at one peer at a time: the party that was asked, or one of its servers.
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
/// A server that names at least this time is asked again after it, however often it asked to wait, in milliseconds.
const NAMED_MIN_MS: u64 = 100;

/// Time for which a server of a service is passed over after it has answered nothing, in milliseconds. Any answer ends it.
const SHUNNED_MS: u64 = 5_000;

/// Longest time without an answer that a slow server gets, as a multiple of [`RequestOptions::silence_ms`]. If it fails, its requests wait
/// that long.
const PATIENCE_MAX: u64 = 3;
/// A slow server gets more time for this long, in milliseconds.
const PATIENT_MS: u64 = 30_000;

/// Longest pause before a service is asked again that asked to wait, in milliseconds. Its servers may be back any time.
const SERVICE_WAIT_MAX_MS: u64 = 10_000;
/// Doublings of the time without an answer after which a request moves on.
const SILENCE_DOUBLINGS_MAX: u32 = 6;

/// Limits of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestOptions {
    /// Maximum number of requests in flight to one peer.
    pub in_flight_max: usize,
    /// The delay after which an unanswered request is sent again.
    pub resend: BackOff,
    /// The time without any answer after which the requests to a server of a service move to another one, in milliseconds. A server that was
    /// slow gets up to three times as much.
    pub silence_ms: u64,
}

impl Default for RequestOptions {
    fn default() -> RequestOptions {
        RequestOptions {
            in_flight_max: 4_096,
            resend: BackOff {
                first_ms: 30_000,
                max_ms: 600_000,
            },
            silence_ms: 700,
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
    /// The servers of each service. Any other party serves itself.
    services: BTreeMap<PartyId, Vec<PartyId>>,
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
    /// The time of its latest answer.
    heard: Option<Monotonic>,
    /// When it was taken for dead, if it has answered nothing since. As a server of a service it is passed over for a while.
    shunned_at: Option<Monotonic>,
    /// The time without an answer that it gets as a slow server, in milliseconds, and until when.
    patience: Option<(u64, Monotonic)>,
}

#[derive(Debug)]
struct Outstanding {
    /// The party that was asked.
    party: PartyId,
    /// The peer that has the request, or gets it: the party itself or one of its servers.
    peer: PartyId,
    service: Service,
    body: Vec<u8>,
    order: u64,
    in_flight: bool,
    /// Repetitions after silence. They determine the next resend.
    attempts: u32,
    /// Moves to another server because of silence. They lengthen the wait for the next one.
    moves: u32,
    /// Answers that asked to wait. They determine the next pause.
    waits: u32,
    /// The latest answer asked to wait, so the next repetition follows no silence.
    is_told_to_wait: bool,
    /// The time of the next repetition, if the request is in flight.
    repeat_at: Monotonic,
    /// The time at which the request is looked at: that of its repetition, or earlier to see whether its server is silent.
    deadline: Option<Monotonic>,
}

impl Requests {
    /// Creates an empty set of requests. `services` are the parties that other peers serve, each with at least one server.
    pub fn new(options: RequestOptions, services: BTreeMap<PartyId, Vec<PartyId>>) -> Requests {
        assert!(
            services.values().all(|servers| !servers.is_empty()),
            "a service has a server"
        );
        Requests {
            options,
            services,
            ..Requests::default()
        }
    }

    /// Adds a request to a peer or a service. A second request under the same id is ignored.
    pub fn ask(
        &mut self,
        id: RequestId,
        party: PartyId,
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
        let peer = self.choose(&party, order, None, now);
        let request = Outstanding {
            party,
            peer,
            service,
            body,
            order,
            in_flight: false,
            attempts: 0,
            moves: 0,
            waits: 0,
            is_told_to_wait: false,
            repeat_at: now,
            deadline: None,
        };
        self.outstanding.insert(id, request);
        self.by_flow.insert(id);
        self.peers.entry(peer).or_default().queue.insert(order, id);
        self.fill(peer, now, out);
    }

    /// Takes an answer from a peer. Returns the party that was asked, if the peer may answer an outstanding request for it.
    pub fn answered(
        &mut self,
        id: &RequestId,
        by: &PartyId,
        now: Monotonic,
        out: &mut Vec<RequestAction>,
    ) -> Option<PartyId> {
        self.grant_patience(by, now);
        self.heard(by, now);
        let party = self.outstanding.get(id)?.party;
        if !self.servers(&party).contains(by) {
            return None;
        }
        if let Some(peer) = self.remove(id) {
            self.fill(peer, now, out);
        }
        Some(party)
    }

    /// Delays the next repetition: the server has not taken the request, and asks for it again after `eta_ms`. If that is a very short time,
    /// the pause grows with repeated requests to wait, so a server cannot make this node ask without a pause. A service is not waited for before each of its
    /// servers was asked.
    pub fn wait(&mut self, id: &RequestId, peer: &PartyId, eta_ms: u64, now: Monotonic) {
        self.heard(peer, now);
        let Some(request) = self.outstanding.get(id) else {
            return;
        };
        if request.peer != *peer || !request.in_flight {
            return;
        }
        let others = self.servers(&request.party).len() - 1;
        // Far fewer servers than 2^32.
        let asks_another = (request.waits as usize) < others;
        let eta_ms = if asks_another { 0 } else { eta_ms };
        let max_ms = match others {
            0 => self.options.resend.max_ms,
            _ => SERVICE_WAIT_MAX_MS,
        };
        let Some(request) = self.outstanding.get_mut(id) else {
            return;
        };
        let attempt = match asks_another {
            true => 0,
            false => request.waits - others as u32,
        };
        let pause_ms = |first_ms, attempt| {
            let pause = BackOff { first_ms, max_ms };
            pause.delay_ms(attempt, jitter(id))
        };
        // A server that names a time knows its queue. If the pause grew with every wait, the oldest requests would wait longest.
        let pause_ms = match eta_ms >= NAMED_MIN_MS {
            true => pause_ms(eta_ms, 0),
            false => pause_ms(eta_ms.max(WAIT_MIN_MS), attempt),
        };
        // Clipped far beyond the longest pause.
        request.waits = request.waits.saturating_add(1);
        request.is_told_to_wait = true;
        // Never before the time that the server names.
        let at = now.after_ms(pause_ms.max(eta_ms.min(max_ms)));
        request.repeat_at = at;
        self.look_at(id, at);
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

    /// Notes that the peer is connected, and sends all unanswered requests, up to the cap. It takes over requests to its services
    /// that wait for servers which are away.
    pub fn peer_up(&mut self, peer: PartyId, now: Monotonic, out: &mut Vec<RequestAction>) {
        self.take_back(peer);
        let known = self.peers.entry(peer).or_default();
        known.up = true;
        (known.heard, known.shunned_at, known.patience) = (None, None, None);
        let services = self.services.values();
        let fellows: BTreeSet<PartyId> = services
            .filter(|servers| servers.contains(&peer))
            .flatten()
            .copied()
            .collect();
        for fellow in fellows {
            if self.peers.get(&fellow).is_some_and(|one| !one.up) {
                self.hand_over(fellow, now, out);
            }
        }
        self.fill(peer, now, out);
    }

    /// Notes that the peer is away: its requests in flight return to the queue, in the order asked. Those to a service go to another
    /// server that is connected.
    pub fn peer_down(&mut self, peer: PartyId, now: Monotonic, out: &mut Vec<RequestAction>) {
        self.take_back(peer);
        self.hand_over(peer, now, out);
    }

    /// Returns the requests that a peer has in flight to its queue.
    fn take_back(&mut self, peer: PartyId) {
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

    /// Moves the queued requests of a server to other servers of the same services, if any of them is connected.
    fn hand_over(&mut self, from: PartyId, now: Monotonic, out: &mut Vec<RequestAction>) {
        let queued = self.peers.get(&from).map(|known| known.queue.clone());
        for (order, id) in queued.unwrap_or_default() {
            let Some(party) = self.outstanding.get(&id).map(|request| request.party) else {
                continue;
            };
            let to = self.choose(&party, order, Some(from), now);
            if to != from && self.peers.get(&to).is_some_and(|known| known.up) {
                self.remove_from_peer(&id);
                self.place(id, to);
                self.fill(to, now, out);
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
            let Some(request) = self.outstanding.get_mut(&id) else {
                continue;
            };
            request.deadline = None;
            let (party, from, order) = (request.party, request.peer, request.order);
            let is_repeated = now >= request.repeat_at;
            if is_repeated && !std::mem::take(&mut request.is_told_to_wait) {
                request.attempts += 1;
            }
            if !is_repeated && !self.is_silent(&from, now) {
                let heard = self.peers.get(&from).and_then(|known| known.heard);
                self.look_again(&id, heard.unwrap_or(now));
                continue;
            }
            if !is_repeated {
                self.shun(&id, &from, now);
            }
            let to = self.choose(&party, order, Some(from), now);
            let moves = to != from && self.peers.get(&to).is_some_and(|known| known.up);
            if moves {
                self.remove_from_peer(&id);
                self.place(id, to);
                self.fill(to, now, out);
                self.hand_over(from, now, out);
                self.fill(from, now, out);
            } else if is_repeated {
                self.send(id, now, out);
            } else {
                self.look_again(&id, now);
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
        let delay = back_off.delay_ms(request.attempts, jitter(&id)).max(1);
        request.repeat_at = now.after_ms(delay);
        let (peer, service, body) = (request.peer, request.service, request.body.clone());
        self.look_again(&id, now);
        out.push(RequestAction::Send {
            peer,
            id,
            service,
            body,
        });
    }

    /// Returns the peers that serve a party.
    fn servers<'a>(&'a self, party: &'a PartyId) -> &'a [PartyId] {
        let servers = self.services.get(party);
        servers.map_or(std::slice::from_ref(party), Vec::as_slice)
    }

    /// Chooses the peer that gets a request to a party. It is another one than `not`, if possible.
    fn choose(&self, party: &PartyId, order: u64, not: Option<PartyId>, now: Monotonic) -> PartyId {
        let servers = self.servers(party);
        let count = servers.len() as u64;
        let cost = |(place, peer): &(usize, &PartyId)| {
            let known = self.peers.get(*peer);
            let is_up = known.is_some_and(|known| known.up);
            let shunned = known.and_then(|known| known.shunned_at);
            let load = known.map_or(0, |known| known.in_flight + known.queue.len());
            (
                !is_up,
                shunned.is_some_and(|at| now.passed_ms(at) < SHUNNED_MS),
                Some(**peer) == not,
                load,
                // Servers with the same load take turns.
                (*place as u64 + count - order % count) % count,
            )
        };
        let best = servers.iter().enumerate().min_by_key(cost);
        best.map_or(*party, |(_, peer)| *peer)
    }

    /// Passes over a silent server for a while.
    fn shun(&mut self, id: &RequestId, peer: &PartyId, now: Monotonic) {
        if let Some(known) = self.peers.get_mut(peer) {
            known.shunned_at = Some(now);
        }
        if let Some(request) = self.outstanding.get_mut(id) {
            // Clipped far beyond the longest wait.
            request.moves = request.moves.saturating_add(1);
        }
    }

    /// Puts a request into the queue of a peer.
    fn place(&mut self, id: RequestId, peer: PartyId) {
        if let Some(request) = self.outstanding.get_mut(&id) {
            request.peer = peer;
            request.in_flight = false;
            request.is_told_to_wait = false;
            let queue = &mut self.peers.entry(peer).or_default().queue;
            queue.insert(request.order, id);
        }
    }

    /// Notes an answer of a peer.
    fn heard(&mut self, peer: &PartyId, now: Monotonic) {
        if let Some(known) = self.peers.get_mut(peer) {
            (known.heard, known.shunned_at) = (Some(now), None);
        }
    }

    /// Gives a peer more time if it was taken for dead and only slow, as its answer shows.
    fn grant_patience(&mut self, peer: &PartyId, now: Monotonic) {
        let patience_ms = self.patience_ms(peer, now);
        let longest_ms = self.options.silence_ms * PATIENCE_MAX;
        if let Some(known) = self.peers.get_mut(peer)
            && let Some(at) = known.shunned_at
        {
            let needed_ms = patience_ms + now.passed_ms(at);
            // Twice as much, because answers vary.
            let granted_ms = (2 * needed_ms).min(longest_ms);
            known.patience = Some((granted_ms, now.after_ms(PATIENT_MS)));
        }
    }

    /// Returns the time without an answer after which a peer counts as silent, in milliseconds.
    fn patience_ms(&self, peer: &PartyId, now: Monotonic) -> u64 {
        let granted = self.peers.get(peer).and_then(|known| known.patience);
        let granted = granted.filter(|(_, until)| now < *until);
        granted.map_or(self.options.silence_ms, |(patience_ms, _)| patience_ms)
    }

    /// Returns whether a peer has answered nothing for so long that its requests to services go to others.
    fn is_silent(&self, peer: &PartyId, now: Monotonic) -> bool {
        let heard = self.peers.get(peer).and_then(|known| known.heard);
        heard.is_none_or(|heard| now.passed_ms(heard) >= self.patience_ms(peer, now))
    }

    /// Sets the time at which a request in flight is looked at next, if its server says nothing from `since` on.
    fn look_again(&mut self, id: &RequestId, since: Monotonic) {
        let Some(request) = self.outstanding.get(id) else {
            return;
        };
        let repeat_at = request.repeat_at;
        let has_others = self.servers(&request.party).len() > 1;
        let at = match has_others && !request.is_told_to_wait {
            true => {
                // After each of them was silent, all of them have more time.
                let turns = request.moves / self.servers(&request.party).len() as u32;
                let silence =
                    self.patience_ms(&request.peer, since) << turns.min(SILENCE_DOUBLINGS_MAX);
                repeat_at.min(since.after_ms(silence))
            }
            false => repeat_at,
        };
        self.look_at(id, at);
    }

    fn look_at(&mut self, id: &RequestId, at: Monotonic) {
        let Some(request) = self.outstanding.get_mut(id) else {
            return;
        };
        if let Some(old) = request.deadline.replace(at) {
            self.deadlines.remove(&(old, *id));
        }
        self.deadlines.insert((at, *id));
    }

    /// Takes a request from the peer that has it.
    fn remove_from_peer(&mut self, id: &RequestId) {
        let Some(request) = self.outstanding.get_mut(id) else {
            return;
        };
        if let Some(at) = request.deadline.take() {
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
    }

    /// Removes a request. Returns the peer that had it.
    fn remove(&mut self, id: &RequestId) -> Option<PartyId> {
        self.remove_from_peer(id);
        let request = self.outstanding.remove(id)?;
        self.by_flow.remove(id);
        Some(request.peer)
    }
}

fn jitter(id: &RequestId) -> u64 {
    Digest::new(id.effect.into()).bytes(&id.flow.0).value()
}
