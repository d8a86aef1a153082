//! The task that owns libp2p: carries out calls, runs timers and dials. `incoming` handles libp2p's events.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use libp2p_gossipsub::{self as gossipsub, TopicHash};
use libp2p_swarm::dial_opts::DialOpts;
use libp2p_swarm::{ConnectionId, Swarm, SwarmEvent};
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::asked::{Asked, Tickets};
use super::behaviour::{Behaviour, BehaviourEvent};
use super::book::Book;
use super::codec::Question;
use super::handle::{Call, WaitingBytes};
use super::network::Network;
use super::queue::Outlet;
use super::shared::GossipState;
use super::slots::{HALVED_EVERY, Slots, least_useful};
use super::topic::Names;
use super::wire::multiaddress;
use super::{Direction, GossipOptions, GossipRefusal, MessageId, PeerId, Topic};
use crate::refusal::RefusalLog;

/// Interval at which deadlines, handshakes and addresses are checked.
const TICK: Duration = Duration::from_millis(100);
/// Interval at which peers are asked for addresses.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// Interval at which the conduct of peers is checked.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Maximum number of calls carried out in one turn.
const CALLS_PER_TURN: usize = 64;
/// Number of events without room at which no more calls are carried out: a request that fails at once is an event.
const HELD_MAX: usize = 1_024;
/// Maximum number of addresses dialled at the same time.
const DIALS_MAX: usize = 16;

/// The state of the task.
pub(super) struct Service {
    pub(super) options: GossipOptions,
    pub(super) me: PeerId,
    pub(super) names: Names,
    pub(super) topics: [TopicHash; Topic::ALL.len()],
    pub(super) shared: Arc<GossipState>,
    pub(super) swarm: Swarm<Behaviour>,
    pub(super) outlet: Outlet,
    waiting: Arc<WaitingBytes>,
    pub(super) book: Book,
    pub(super) dials: HashMap<ConnectionId, SocketAddr>,
    pub(super) asked: Asked,
    pub(super) tickets: Tickets,
    /// Accepted messages, with the time at which each is passed on.
    pub(super) accepted: VecDeque<(Instant, MessageId)>,
    asked_around: Instant,
    looked_at: Instant,
    halved: Instant,
    pub(super) log: RefusalLog,
}

impl Service {
    pub(super) fn new(
        options: GossipOptions,
        names: Names,
        shared: Arc<GossipState>,
        swarm: Swarm<Behaviour>,
        outlet: Outlet,
        waiting: Arc<WaitingBytes>,
    ) -> Self {
        let now = Instant::now();
        let topics = Topic::ALL.map(|topic| gossipsub::IdentTopic::new(names.topic(topic)).hash());
        Self {
            me: PeerId::of_seed(options.key_seed.expose()),
            book: Book::new(&options.seeds, &options.limits, now),
            options,
            names,
            topics,
            shared,
            swarm,
            outlet,
            waiting,
            dials: HashMap::new(),
            asked: Asked::default(),
            tickets: Tickets::default(),
            accepted: VecDeque::new(),
            asked_around: now,
            looked_at: now,
            halved: now,
            log: RefusalLog::default(),
        }
    }

    /// Runs until it is told to stop, or until all handles or the event receiver are dropped. `early` holds
    /// libp2p's events from before this call.
    pub(super) async fn run(
        mut self,
        early: Vec<SwarmEvent<BehaviourEvent>>,
        mut calls: mpsc::Receiver<Call>,
        mut stopped: watch::Receiver<bool>,
    ) {
        for event in early {
            self.on_event(event);
        }
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let pass_on = self.accepted.front().map(|(due, _)| (*due).into());
            tokio::select! {
                // An error means that all handles are gone.
                told = stopped.changed() => if told.is_err() || *stopped.borrow() { break },
                call = calls.recv(), if self.outlet.held() < HELD_MAX => match call {
                    Some(call) => self.carry_out(call, &mut calls),
                    None => break,
                },
                // Until the application has made room, no event is taken from libp2p, which then stops reading.
                flushed = self.outlet.flush(), if !self.outlet.is_clear() => if flushed.is_err() { break },
                event = self.swarm.select_next_some(), if self.outlet.is_clear() => self.on_event(event),
                () = until(pass_on), if pass_on.is_some() => self.pass_on(Instant::now()),
                _ = tick.tick() => self.on_tick(Instant::now()),
            }
        }
        // The sockets close before callers that wait for the end are told: the queue of calls ends with this
        // function.
        drop(self);
    }

    fn carry_out(&mut self, first: Call, calls: &mut mpsc::Receiver<Call>) {
        let mut next = Some(first);
        for _ in 0..CALLS_PER_TURN {
            let Some(call) = next else { return };
            self.waiting.remove(call.cost());
            self.on_call(call);
            next = calls.try_recv().ok();
        }
        if let Some(call) = next {
            self.waiting.remove(call.cost());
            self.on_call(call);
        }
    }

    fn on_tick(&mut self, now: Instant) {
        for (peer, request, error) in self.asked.late(now) {
            self.answered(peer, request, Err(error));
        }
        self.tickets.clear();
        self.end_slow_handshakes(now);
        // The times below are clipped at 0: `now` is read once a turn, and they may be of a later moment.
        if now.saturating_duration_since(self.looked_at) >= LOOK_AGAIN {
            self.looked_at = now;
            self.look_at_conduct();
        }
        if now.saturating_duration_since(self.halved) >= HALVED_EVERY {
            self.halved = now;
            for (_, peer) in self.shared.peers().iter_mut() {
                peer.useful /= 2;
            }
        }
        if now.saturating_duration_since(self.asked_around) >= ASK_AGAIN {
            self.asked_around = now;
            let ready: Vec<PeerId> = self.shared.peers().reachable().map(|(id, _)| id).collect();
            for peer in ready {
                self.ask(peer, Question::Addresses, None);
            }
        }
        self.evict(now);
        self.dial(now);
    }

    /// Dismisses the least useful inbound peers, if more have dialled in than there are places.
    fn evict(&mut self, now: Instant) {
        let peers = self.shared.peers();
        let excess = Slots::of(&peers).excess(&self.options.limits);
        let victim = match excess {
            0 => None,
            _ => least_useful(&peers, now),
        };
        drop(peers);
        if let Some(peer) = victim {
            self.dismiss(
                peer,
                "others from its network, or all others, are of more use",
            );
        }
    }

    fn end_slow_handshakes(&mut self, now: Instant) {
        let time = self.options.limits.handshake_timeout;
        let is_slow = |peer: &super::peers::Peer| {
            let first = peer.connections.first();
            peer.announced.is_none()
                // Clipped at 0: a connection may begin after `now` was read.
                && first.is_some_and(|first| now.saturating_duration_since(first.since) >= time)
        };
        let peers = self.shared.peers();
        let slow = peers.iter().filter(|(_, peer)| is_slow(peer));
        let slow: Vec<PeerId> = slow.map(|(id, _)| *id).collect();
        drop(peers);
        for peer in slow {
            self.refuse(peer, &GossipRefusal::HandshakeTimeout(time));
        }
    }

    /// Tries addresses while there are outbound places ([`Slots`]).
    fn dial(&mut self, now: Instant) {
        let shared = Arc::clone(&self.shared);
        let limits = &shared.limits;
        while self.dials.len() < DIALS_MAX.min(limits.handshakes_max) {
            let peers = shared.peers();
            let mut slots = Slots::of(&peers);
            for (_, peer) in peers.iter() {
                let first = peer.connections.first();
                if let Some(first) = first.filter(|first| first.direction == Direction::Outbound) {
                    let is_seed = self.book.is_seed(&first.remote);
                    slots.dials(Network::of(first.remote.ip()), true, is_seed);
                }
            }
            for address in self.dials.values() {
                let is_seed = self.book.is_seed(address);
                slots.dials(Network::of(address.ip()), false, is_seed);
            }
            if !slots.may_dial(limits) {
                return;
            }
            let met = |address: &SocketAddr, id: Option<PeerId>| match id {
                Some(id) => peers.get(&id).is_some_and(|peer| {
                    id == self.me || !peer.connections.is_empty() || peer.is_banned(now)
                }),
                None => peers.iter().any(|(_, peer)| {
                    !peer.connections.is_empty() && peer.address == Some(*address)
                }),
            };
            let missing = self.book.seeds_missing(met);
            let is_unwanted = |address: &SocketAddr, id: Option<PeerId>, is_seed: bool| {
                let network = Network::of(address.ip());
                met(address, id) || !slots.may_dial_there(limits, network, is_seed, missing)
            };
            let Some(address) = self.book.due(now, is_unwanted) else {
                return;
            };
            drop(peers);
            let options = DialOpts::unknown_peer_id()
                .address(multiaddress(&address))
                .allocate_new_port()
                .build();
            let id = options.connection_id();
            match self.swarm.dial(options) {
                Ok(()) => {
                    self.dials.insert(id, address);
                }
                Err(error) => self.unreachable(&address, error.to_string()),
            }
        }
    }

    /// Notes a failed attempt at an address.
    pub(super) fn unreachable(&mut self, address: &SocketAddr, why: String) {
        self.shared.counters.unreachable.add(1);
        // One line for each time that it is lost, not for each attempt.
        if self.book.failed(address, Instant::now()) {
            self.log
                .refused(&address.to_string(), &GossipRefusal::Unreachable(why));
        }
    }
}

async fn until(time: Option<tokio::time::Instant>) {
    if let Some(time) = time {
        tokio::time::sleep_until(time).await;
    }
}
