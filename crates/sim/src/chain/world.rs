//! The simulated world: one queue of scheduled events, and the delivery of everything that leaves a node.

use std::cmp::Reverse;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use chain::core::{Action, Event, RequestFailure, Ticket, Verdict};
use chain::{Transaction, TxId};
use primitives::PublicKey;

use super::adversary::Adversary;
use super::equivocator::Equivocator;
use super::network::{Network, number, peer};
use super::node::Node;
use super::plan::{Plan, key};
use super::report::{ChainReport, ChainTally};
use super::siege::Siege;
use super::traffic::Traffic;
use super::{ChainBug, ChainOptions, Scenario, audit};
use crate::chance::Chance;

/// A scheduled event.
pub(super) enum Coming {
    /// An event for a node in this life.
    Event(usize, u32, Event),
    /// The end of a round.
    Flush(usize, u32),
    /// The oldest pending batch becomes durable.
    Durable(usize, u32),
    /// A wake-up that a node asked for.
    Wake(usize, u32),
    Crash(usize, u64),
    Restart(usize),
    Split(usize),
    Heal(usize),
    /// An action of a client.
    Client,
    /// An action of an adversary.
    Attack(usize),
    /// A new attempt to connect a dismissed peer.
    Redial(usize, usize),
    /// A check that each node's chain has grown since the last probe.
    Probe,
    /// The end of all forging.
    StopForging,
}

/// A question in flight: the asker, its life and ticket, and the peer asked.
struct Asked {
    from: usize,
    life: u32,
    ticket: Ticket,
    to: usize,
}

/// The peer that sent a gossiped message, and its bytes.
type Brought = (usize, Arc<Vec<u8>>);

/// Time between two probes, in blocks.
const PROBE_BLOCKS: u64 = 25;
/// Time after which a dismissed peer is connected again, in milliseconds.
const REDIAL_MS: u64 = 10_000;

/// An adversarial peer.
enum Foe {
    Liar(Adversary),
    Besieger(Box<Siege>),
    Equivocator(Equivocator),
}

impl Foe {
    fn new(plan: &Plan, n: usize, chance: &mut Chance) -> Self {
        let number = plan.nodes + n;
        match plan.scenario {
            Scenario::Siege { .. } => Self::Besieger(Box::new(Siege::new(number, chance))),
            Scenario::Equivocation { .. } => Self::Equivocator(Equivocator::new(number, chance)),
            _ => Self::Liar(Adversary::new(number, chance)),
        }
    }

    fn hear(&mut self, world: &mut World, event: Event) {
        match self {
            Self::Liar(liar) => liar.hear(world, event),
            Self::Besieger(besieger) => besieger.hear(world, event),
            Self::Equivocator(forger) => forger.hear(world, event),
        }
    }

    fn attack(&mut self, world: &mut World, at: usize) {
        match self {
            Self::Liar(liar) => liar.attack(world, at),
            Self::Besieger(besieger) => besieger.attack(world, at),
            Self::Equivocator(forger) => forger.attack(world, at),
        }
    }
}

/// Penalty points at which the transport bans a peer.
const BAN_POINTS: u32 = 100;

/// The state of the simulated world.
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) chance: Chance,
    pub(super) now_ms: u64,
    pub(super) nodes: Vec<Node>,
    pub(super) network: Network,
    pub(super) tally: ChainTally,
    pub(super) violations: Vec<String>,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    coming: BTreeMap<u64, Coming>,
    order: u64,
    asked: BTreeMap<Ticket, Asked>,
    /// Gossip that nodes have not judged yet, with its sender and bytes, by node and ticket.
    unjudged: BTreeMap<(usize, Ticket), Brought>,
    tickets: Ticket,
    points: BTreeMap<(usize, usize), u32>,
    trace: DefaultHasher,
    text: Option<String>,
    bug: Option<ChainBug>,
}

/// Maximum number of violations that one run reports.
const VIOLATIONS_MAX: usize = 20;

/// Runs one simulation.
#[must_use]
pub fn run_chain(options: &ChainOptions) -> ChainReport {
    let mut chance = Chance::new(options.seed);
    let plan = Plan::draw(options, &mut chance);
    let network = Network::draw(&plan, &mut chance);
    let nodes = (0..plan.nodes)
        .map(|n| Node::new(plan.settings(n), plan.skews_ms[n]))
        .collect();
    let mut world = World {
        nodes,
        network,
        chance,
        now_ms: 0,
        tally: ChainTally::default(),
        violations: Vec::new(),
        queue: BinaryHeap::new(),
        coming: BTreeMap::new(),
        order: 0,
        asked: BTreeMap::new(),
        unjudged: BTreeMap::new(),
        tickets: 0,
        points: BTreeMap::new(),
        trace: DefaultHasher::new(),
        text: options.keep_trace.then(String::new),
        bug: options.bug,
        plan,
    };
    world.begin();
    world.run();
    audit::audit(&mut world);
    ChainReport {
        options: *options,
        violations: world.violations,
        tally: world.tally,
        trace: world.trace.finish(),
        text: world.text,
    }
}

impl World {
    fn begin(&mut self) {
        for n in 0..self.nodes.len() {
            self.start(n);
        }
        for (at, split) in self.plan.splits.clone().iter().enumerate() {
            self.later(split.from_ms, Coming::Split(at));
            self.later(split.to_ms, Coming::Heal(at));
        }
        for crash in self.plan.crashes.clone() {
            self.later(crash.at_ms, Coming::Crash(crash.node, crash.down_ms));
        }
        self.later(1_000, Coming::Client);
        for adversary in 0..self.plan.adversaries {
            self.later(2_000, Coming::Attack(adversary));
        }
        self.later(self.plan.forging_ms, Coming::StopForging);
        if self.plan.scenario.is_calm() {
            self.later(self.probe_ms(), Coming::Probe);
        }
    }

    /// Returns the time between two probes. An honest majority fails to make a block in it once in ten million times.
    fn probe_ms(&self) -> u64 {
        u64::from(self.plan.genesis.params.block_seconds) * 1_000 * PROBE_BLOCKS
    }

    /// Checks that every node's chain has grown since the last probe, so that no node has stopped following or forging.
    fn probe(&mut self) {
        for n in 0..self.nodes.len() {
            let node = &mut self.nodes[n];
            let height = node
                .core
                .as_ref()
                .map_or(0, |core| core.overlay().tip().height);
            if height <= std::mem::replace(&mut node.probed, height) {
                self.violated(format!("node {n} stands still at {height}"));
            }
        }
        let again_ms = self.now_ms + self.probe_ms();
        if again_ms <= self.plan.forging_ms {
            self.later(again_ms, Coming::Probe);
        }
    }

    fn run(&mut self) {
        let mut traffic = Traffic::default();
        let mut adversaries: Vec<Foe> = (0..self.plan.adversaries)
            .map(|n| Foe::new(&self.plan, n, &mut self.chance))
            .collect();
        while let Some(Reverse((at_ms, order))) = self.queue.pop() {
            if at_ms > self.plan.end_ms || self.violations.len() >= VIOLATIONS_MAX {
                return;
            }
            self.now_ms = at_ms;
            let Some(coming) = self.coming.remove(&order) else {
                continue;
            };
            match coming {
                Coming::Event(to, _, event) if to >= self.nodes.len() => {
                    let place = to - self.nodes.len();
                    if let Some(adversary) = adversaries.get_mut(place) {
                        adversary.hear(self, event);
                    }
                }
                Coming::Event(to, life, event) => self.event(to, life, event),
                Coming::Flush(n, life) => self.flush(n, life),
                Coming::Durable(n, life) => self.durable(n, life),
                Coming::Wake(n, life) => self.wake(n, life),
                Coming::Crash(n, down_ms) => self.crash(n, down_ms),
                Coming::Restart(n) => self.start(n),
                Coming::Split(at) => self.split(at),
                Coming::Heal(at) => self.heal(at),
                Coming::Client => traffic.step(self),
                Coming::Attack(at) => {
                    if let Some(adversary) = adversaries.get_mut(at) {
                        adversary.attack(self, at);
                    }
                }
                Coming::StopForging => self.stop_forging(),
                Coming::Redial(a, b) => self.redial(a, b),
                Coming::Probe => self.probe(),
            }
        }
    }

    /// Schedules an event.
    pub(super) fn later(&mut self, at_ms: u64, coming: Coming) {
        self.order += 1;
        self.coming.insert(self.order, coming);
        self.queue.push(Reverse((at_ms, self.order)));
    }

    fn note(&mut self, n: usize, what: impl FnOnce() -> String) {
        (self.now_ms, n).hash(&mut self.trace);
        if self.text.is_some() {
            let line = what();
            if let Some(text) = &mut self.text {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{:>7} {n:>2} {line}", self.now_ms);
            }
        }
    }

    pub(super) fn violated(&mut self, what: String) {
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(what);
        }
    }

    fn start(&mut self, n: usize) {
        if self.nodes[n].core.is_some() {
            return;
        }
        let genesis = self.plan.genesis.clone();
        if let Err(fault) = self.nodes[n].start(&genesis, self.now_ms) {
            self.violated(format!("node {n} does not start: {fault}"));
            return;
        }
        self.note(n, || "starts".into());
        for other in self.network.neighbours(n) {
            if other >= self.nodes.len() || self.nodes[other].core.is_some() {
                self.connect(n, other);
            }
        }
        self.plan_flush(n);
    }

    fn connect(&mut self, a: usize, b: usize) {
        if self.network.reaches(a, b) {
            self.tell(a, 1, Event::PeerUp(peer(b)));
            self.tell(b, 1, Event::PeerUp(peer(a)));
        }
    }

    /// Schedules an event for a peer in its current life.
    pub(super) fn tell(&mut self, to: usize, after_ms: u64, event: Event) {
        let life = self.nodes.get(to).map_or(0, |node| node.life);
        self.later(self.now_ms + after_ms, Coming::Event(to, life, event));
    }

    fn way_ms(&mut self) -> u64 {
        let max = self.plan.delay_ms_max;
        self.chance.between(1, max + 1)
    }

    fn event(&mut self, to: usize, life: u32, event: Event) {
        let now_ms = self.now_ms;
        let node = &mut self.nodes[to];
        let clock_ms = node.clock_ms(now_ms);
        let Some(core) = node.core.as_mut().filter(|_| node.life == life) else {
            return;
        };
        let handled = core.handle(clock_ms, event);
        if let Err(failure) = handled {
            self.violated(format!("node {to}: {failure}"));
        }
        self.plan_flush(to);
    }

    fn plan_flush(&mut self, n: usize) {
        let after_ms = self.chance.between(0, 4);
        let node = &mut self.nodes[n];
        if !node.flush_planned && node.core.is_some() {
            node.flush_planned = true;
            let life = node.life;
            self.later(self.now_ms + after_ms, Coming::Flush(n, life));
        }
    }

    fn flush(&mut self, n: usize, life: u32) {
        let now_ms = self.now_ms;
        let node = &mut self.nodes[n];
        let clock_ms = node.clock_ms(now_ms);
        let Some(core) = node.core.as_mut().filter(|_| node.life == life) else {
            return;
        };
        node.flush_planned = false;
        let round = match core.flush(clock_ms) {
            Ok(round) => round,
            Err(failure) => {
                self.violated(format!("node {n}: {failure}"));
                return;
            }
        };
        let wake = core.next_wake();
        let batch = match self.bug {
            Some(bug) => bug.spoil(round.batch),
            None => round.batch,
        };
        node.store.submit(batch);
        node.flying.push_back(round.actions);
        let disk_ms = self.chance.between(1, self.plan.disk_ms_max);
        let node = &mut self.nodes[n];
        node.durable_ms = node.durable_ms.max(now_ms + disk_ms);
        let durable_ms = node.durable_ms;
        let wake_ms = wake.map(|wake| node.world_ms(wake).max(now_ms + 1));
        node.wake_ms = wake_ms;
        self.later(durable_ms, Coming::Durable(n, life));
        if let Some(wake_ms) = wake_ms {
            self.later(wake_ms, Coming::Wake(n, life));
        }
    }

    fn wake(&mut self, n: usize, life: u32) {
        let node = &self.nodes[n];
        if node.life == life && node.wake_ms == Some(self.now_ms) {
            self.plan_flush(n);
        }
    }

    fn durable(&mut self, n: usize, life: u32) {
        let node = &mut self.nodes[n];
        let Some(core) = node.core.as_mut().filter(|_| node.life == life) else {
            return;
        };
        node.store.acknowledge();
        core.committed();
        for action in node.flying.pop_front().unwrap_or_default() {
            self.perform(n, action);
        }
    }

    fn perform(&mut self, n: usize, action: Action) {
        match action {
            Action::Gossip(bytes) => {
                let bytes = Arc::new(bytes);
                if self.nodes[n].seen.insert(name(&bytes)) {
                    self.spread(n, n, &bytes);
                }
            }
            Action::Verdict { message, verdict } => {
                if let Some((from, bytes)) = self.unjudged.remove(&(n, message))
                    && verdict == Verdict::Accept
                {
                    self.spread(n, from, &bytes);
                }
            }
            Action::Ask {
                peer,
                ticket,
                bytes,
                patience_ms,
            } => self.ask(n, number(peer), ticket, bytes, patience_ms),
            Action::Answer { ticket, bytes } => self.answer(n, ticket, bytes),
            Action::Penalise {
                peer,
                points,
                reason,
            } => self.penalise(n, number(peer), points, reason),
            Action::Disconnect { peer, .. } => self.dismiss(n, number(peer)),
            Action::Submitted { outcomes, .. } => {
                for outcome in outcomes {
                    match outcome {
                        Ok(id) => {
                            self.tally.accepted += 1;
                            self.nodes[n].accepted.push(id);
                        }
                        Err(_) => self.tally.refused += 1,
                    }
                }
            }
            Action::Done { .. } => {}
            Action::Notice(notice) => self.notice(n, *notice),
        }
    }

    fn notice(&mut self, n: usize, notice: chain::core::Notice) {
        use chain::core::Notice;
        match notice {
            Notice::Added { header, hash, own } => self.note(n, || {
                let forged = if own { ", forged here" } else { "" };
                let count = header.parent_count + header.child_count;
                format!(
                    "block {} {hash:.8}, {count} transactions{forged}",
                    header.height
                )
            }),
            Notice::Popped { header, .. } => {
                self.note(n, || format!("block {} taken back", header.height));
            }
            Notice::Forked { depth, .. } => {
                self.note(n, || format!("another branch, {depth} deep"))
            }
            Notice::Left { id, reason } => {
                self.note(n, || format!("{} left: {reason}", id.short()))
            }
            Notice::TooDeep { peer, common, .. } => {
                self.note(n, || format!("{peer} claims a branch from {common} on"));
            }
            Notice::Stuck { common, .. } => {
                self.violated(format!("node {n} is stuck at {common}"));
            }
        }
    }

    /// Gossips a message to all neighbours except its sender.
    fn spread(&mut self, n: usize, from: usize, bytes: &Arc<Vec<u8>>) {
        for other in self.network.neighbours(n) {
            if other == from || other == n {
                continue;
            }
            if other < self.nodes.len() {
                self.gossip_to(n, other, bytes.clone());
            }
        }
    }

    /// Gossips a message to one peer. The receiver's transport drops messages that it has seen.
    pub(super) fn gossip_to(&mut self, from: usize, to: usize, bytes: Arc<Vec<u8>>) {
        if self.nodes[to].core.is_none() || !self.network.reaches(from, to) {
            return;
        }
        if self.chance.per_mille(self.plan.lost_per_mille) {
            self.tally.messages_lost += 1;
            return;
        }
        let twice = self.chance.per_mille(self.plan.twice_per_mille);
        if !self.nodes[to].seen.insert(name(&bytes)) && !twice {
            return;
        }
        self.tickets += 1;
        let (message, after_ms) = (self.tickets, self.way_ms());
        self.unjudged.insert((to, message), (from, bytes.clone()));
        self.tell(
            to,
            after_ms,
            Event::Gossip {
                peer: peer(from),
                message,
                bytes: bytes.to_vec(),
            },
        );
    }

    pub(super) fn ask(
        &mut self,
        from: usize,
        to: usize,
        ticket: Ticket,
        bytes: Vec<u8>,
        patience_ms: u64,
    ) {
        let there = to >= self.nodes.len() || self.nodes[to].core.is_some();
        if !there || !self.network.reaches(from, to) {
            let silent = self.network.linked(from, to) && there;
            let (after_ms, failure) = if silent {
                (patience_ms, RequestFailure::Late)
            } else {
                (1, RequestFailure::Gone)
            };
            let result = Err(failure);
            let peer = peer(to);
            self.tell(
                from,
                after_ms,
                Event::Answered {
                    peer,
                    ticket,
                    result,
                },
            );
            return;
        }
        if self.chance.per_mille(self.plan.lost_per_mille) {
            // No answer ever comes, so the asker's own timeout must end the wait.
            self.tally.messages_lost += 1;
            return;
        }
        self.tickets += 1;
        let number = self.tickets;
        let life = self.nodes.get(from).map_or(0, |node| node.life);
        self.asked.insert(
            number,
            Asked {
                from,
                life,
                ticket,
                to,
            },
        );
        let after_ms = self.way_ms();
        self.tell(
            to,
            after_ms,
            Event::Asked {
                peer: peer(from),
                ticket: number,
                bytes,
            },
        );
    }

    pub(super) fn answer(&mut self, n: usize, ticket: Ticket, bytes: Vec<u8>) {
        let Some(asked) = self.asked.remove(&ticket) else {
            return;
        };
        if asked.to != n || !self.network.reaches(n, asked.from) {
            return;
        }
        let after_ms = self.way_ms();
        let event = Event::Answered {
            peer: peer(n),
            ticket: asked.ticket,
            result: Ok(bytes),
        };
        let at_ms = self.now_ms + after_ms;
        self.later(at_ms, Coming::Event(asked.from, asked.life, event));
    }

    /// Records penalty points. Honest nodes may penalise each other only for effects of lost messages and wrong clocks.
    fn penalise(&mut self, n: usize, other: usize, points: u32, reason: &'static str) {
        if other < self.nodes.len() {
            let harmless = [
                "chain_peer.silent",
                "chain_peer.empty_claim",
                "chain_block.from_future",
            ];
            if !harmless.contains(&reason) {
                self.violated(format!("node {n} holds {reason} against node {other}"));
            }
            return;
        }
        if self.text.is_some() {
            self.note(n, || format!("holds {reason} against {other}"));
        }
        let held = self.points.entry((n, other)).or_default();
        *held += points;
        if *held >= BAN_POINTS && self.network.linked(n, other) {
            self.tally.bans += 1;
            self.network.ban(n, other);
            self.tell(n, 1, Event::PeerDown(peer(other)));
        }
    }

    /// Closes the connection with a silent peer. One side dials again after a while.
    fn dismiss(&mut self, n: usize, other: usize) {
        if !self.network.linked(n, other) {
            return;
        }
        self.tally.dismissed += 1;
        self.network.dismiss(n, other);
        for (one, of) in [(n, other), (other, n)] {
            self.tell(one, 1, Event::PeerDown(peer(of)));
        }
        self.later(self.now_ms + REDIAL_MS, Coming::Redial(n, other));
    }

    fn redial(&mut self, a: usize, b: usize) {
        self.network.redial(a, b);
        let runs = |n: usize| self.nodes.get(n).is_none_or(|node| node.core.is_some());
        if runs(a) && runs(b) {
            self.connect(a, b);
        }
    }

    fn crash(&mut self, n: usize, down_ms: u64) {
        if self.nodes[n].core.is_none() {
            return;
        }
        self.note(n, || "crashes".into());
        self.tally.crashes += 1;
        let arrive = self.chance.below(3);
        self.tally.batches_lost += self.nodes[n].crash(arrive);
        self.unjudged.retain(|(node, _), _| *node != n);
        for other in self.network.neighbours(n) {
            if other < self.nodes.len() {
                self.tell(other, 5, Event::PeerDown(peer(n)));
            }
        }
        self.later(self.now_ms + down_ms, Coming::Restart(n));
    }

    fn split(&mut self, at: usize) {
        let split = self.plan.splits[at].clone();
        self.note(at, || format!("split into {:?}", split.parts));
        if split.noticed {
            for (a, b) in self.network.cut_by(&split.parts) {
                self.tell(a, 5, Event::PeerDown(peer(b)));
                self.tell(b, 5, Event::PeerDown(peer(a)));
            }
        }
        self.network.split(Some(split.parts));
    }

    fn heal(&mut self, at: usize) {
        self.note(at, || "healed".into());
        let split = self.plan.splits[at].clone();
        self.network.split(None);
        // Nodes that started during the partition do not know the other side. Make all cut links again.
        for (a, b) in self.network.cut_by(&split.parts) {
            if self.nodes[a].core.is_some() && self.nodes[b].core.is_some() {
                self.connect(a, b);
            }
        }
    }

    fn stop_forging(&mut self) {
        for n in 0..self.nodes.len() {
            for account in 0..super::plan::ACCOUNTS {
                let PublicKey::Ed25519(public) = *key(account).public() else {
                    continue;
                };
                self.tell(n, 0, Event::StopForging(public));
            }
        }
    }

    /// Sends a client's transactions to a node, which ignores them while it is down.
    pub(super) fn submit(&mut self, n: usize, transactions: Vec<Transaction>) {
        self.tickets += 1;
        let ticket = self.tickets;
        self.tell(
            n,
            1,
            Event::Submit {
                ticket,
                transactions,
            },
        );
    }

    /// Returns the reason if a transaction has left the pool of a node.
    pub(super) fn left(&self, n: usize, id: &TxId) -> Option<String> {
        let why = chain::core::why_left(&self.nodes[n].store, id);
        why.ok().flatten().map(|(_, code)| code)
    }
}

/// Returns the id by which the transport recognises a message.
fn name(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
