//! The simulated world: one queue of scheduled events.

mod delivery;

use std::cmp::Reverse;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use chain::core::{Event, Ticket};
use chain::{ChainTime, Height, Transaction, TxId};
use primitives::PublicKey;

use super::network::{Network, peer};
use super::node::Node;
use super::plan::{Plan, key};
use super::report::{ChainReport, ChainTally};
use super::{ChainBug, ChainOptions};
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

impl World {
    /// Returns the world of a simulation before its first event.
    pub(super) fn new(options: &ChainOptions) -> Self {
        let mut chance = Chance::new(options.seed);
        let plan = Plan::draw(options, &mut chance);
        let network = Network::draw(&plan, &mut chance);
        let nodes = (0..plan.nodes)
            .map(|n| Node::new(plan.settings(n), plan.skews_ms[n]))
            .collect();
        Self {
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
        }
    }

    /// Returns the report of the run.
    pub(super) fn report(self, options: &ChainOptions) -> ChainReport {
        ChainReport {
            options: *options,
            violations: self.violations,
            tally: self.tally,
            trace: self.trace.finish(),
            text: self.text,
        }
    }

    /// Starts the nodes and schedules the planned events.
    pub(super) fn begin(&mut self) {
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
        self.plan.genesis.params.block_seconds.as_ms() * PROBE_BLOCKS
    }

    /// Checks that every node's chain has grown since the last probe, so that no node has stopped following or forging.
    fn probe(&mut self) {
        for n in 0..self.nodes.len() {
            let node = &mut self.nodes[n];
            let height = node
                .core
                .as_ref()
                .map_or(Height::GENESIS, |core| core.overlay().tip().height);
            if height <= std::mem::replace(&mut node.probed, height) {
                self.violated(format!("node {n} makes no progress at height {height}"));
            }
        }
        let again_ms = self.now_ms + self.probe_ms();
        if again_ms <= self.plan.forging_ms {
            self.later(again_ms, Coming::Probe);
        }
    }

    /// Moves the clock to the next event and returns it. Returns `None` at the end of the run, or after too many violations.
    pub(super) fn next_event(&mut self) -> Option<Coming> {
        loop {
            let Reverse((at_ms, order)) = self.queue.pop()?;
            if at_ms > self.plan.end_ms || self.violations.len() >= VIOLATIONS_MAX {
                return None;
            }
            debug_assert!(at_ms >= self.now_ms, "no event is scheduled in the past");
            self.now_ms = at_ms;
            if let Some(coming) = self.coming.remove(&order) {
                return Some(coming);
            }
        }
    }

    /// Lets an event happen at the nodes or between them. Events of clients and adversaries are not handled here.
    pub(super) fn happen(&mut self, coming: Coming) {
        match coming {
            Coming::Event(to, life, event) => self.event(to, life, event),
            Coming::Flush(n, life) => self.flush(n, life),
            Coming::Durable(n, life) => self.durable(n, life),
            Coming::Wake(n, life) => self.wake(n, life),
            Coming::Crash(n, down_ms) => self.crash(n, down_ms),
            Coming::Restart(n) => self.start(n),
            Coming::Split(at) => self.split(at),
            Coming::Heal(at) => self.heal(at),
            Coming::StopForging => self.stop_forging(),
            Coming::Redial(a, b) => self.redial(a, b),
            Coming::Probe => self.probe(),
            Coming::Client | Coming::Attack(_) => unreachable!("the simulation handles these"),
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
        let handled = core.handle(ChainTime::from_ms(clock_ms), event);
        if let Err(failure) = handled {
            self.violated(format!("node {to}: {failure}"));
        }
        self.plan_flush(to);
    }

    fn plan_flush(&mut self, n: usize) {
        let after_ms = self.chance.between(0, self.plan.round_ms_max);
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
        let round = match core.flush(ChainTime::from_ms(clock_ms)) {
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
        let wake_ms = wake.map(|wake| node.world_ms(wake.as_ms()).max(now_ms + 1));
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
        let actions = node.flying.pop_front();
        for action in actions.expect("the batch was in flight") {
            self.perform(n, action);
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
        let why = chain::core::removal_reason(&self.nodes[n].store, id);
        why.ok().flatten().map(|(_, code)| code)
    }
}
