//! The world: one queue of things to come, taken in the order of time.

use std::collections::BTreeMap;

use kernel::{Event, Kernel, KernelOptions};
use primitives::Timestamp;

use crate::auditor::Auditor;
use crate::chance::Chance;
use crate::clients::Clients;
use crate::links::{Links, Told};
use crate::node::Node;
use crate::plan::{Fault, Plan, sweep};
use crate::repeater::Repeater;
use crate::report::{Report, Tally};
use crate::town::{BANKS, BEGINNING_MS, NODES, NOTARY, SHORT, Town};
use crate::trace::Trace;
use crate::view::View;
use crate::{Bug, SimOptions};

/// Simulated time after which whatever has not happened never will, in microseconds.
const PATIENCE_US: u64 = 1_800_000_000;
/// Happenings after which a simulation is running in circles.
const HAPPENINGS_MAX: u64 = 2_000_000;

/// Something to come.
pub(crate) enum What {
    /// A node's round, if none came sooner.
    Round {
        node: usize,
        life: u64,
    },
    /// A node's sync is done.
    Synced {
        node: usize,
        life: u64,
    },
    /// A node's view has done a job.
    Viewed {
        node: usize,
        life: u64,
    },
    /// A message arrives.
    Arrival {
        from: usize,
        to: usize,
        generation: u64,
        bytes: Vec<u8>,
    },
    /// Two nodes try to connect.
    Connect {
        pair: (usize, usize),
    },
    Up(Told),
    Down(Told),
    /// A client starts its flow, or asks again.
    Client(usize),
    Fault(Fault),
    Restart {
        node: usize,
    },
    /// No more faults.
    Calm,
}

/// How far the simulation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Cash is issued; nothing breaks.
    Funding,
    /// The work, with faults.
    Work,
    /// Everything is paid from one bank to the other, and back.
    Sweep(usize),
    /// Nothing more is started.
    Rest,
}

/// See the module.
pub(crate) struct World {
    pub(crate) options: SimOptions,
    pub(crate) town: Town,
    pub(crate) plan: Plan,
    pub(crate) chance: Chance,
    pub(crate) now_us: u64,
    queue: BTreeMap<(u64, u64), What>,
    tie: u64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Links,
    pub(crate) repeater: Repeater,
    pub(crate) clients: Clients,
    pub(crate) auditor: Auditor,
    pub(crate) trace: Trace,
    pub(crate) tally: Tally,
    phase: Phase,
    calm: bool,
}

impl World {
    pub(crate) fn new(options: &SimOptions) -> Self {
        let town = Town::new();
        let mut chance = Chance::new(options.seed);
        let plan = Plan::new(options, &town, &mut chance);
        let nodes = plan.ahead_ms.map(|ahead_ms| {
            let view = View::new(options.bug == Some(Bug::ViewStale));
            Node::new(plan.shows_unsynced, view, ahead_ms)
        });
        let mut calm = plan.weather;
        (calm.lost, calm.doubled) = (0, 0);
        Self {
            options: options.clone(),
            town,
            chance,
            now_us: 0,
            queue: BTreeMap::new(),
            tie: 0,
            nodes: nodes.into(),
            links: Links::new(calm),
            repeater: Repeater::default(),
            clients: Clients::default(),
            auditor: Auditor::default(),
            trace: Trace::new(options.keep_trace),
            tally: Tally::default(),
            phase: Phase::Funding,
            calm: false,
            plan,
        }
    }

    /// Runs to the end, and audits.
    pub(crate) fn run(mut self) -> Report {
        for node in 0..NODES {
            self.start_node(node);
        }
        for pair in [(0, 1), (0, 2), (1, 2)] {
            self.at(10, What::Connect { pair });
        }
        let funding = std::mem::take(&mut self.plan.funding);
        self.add_clients(funding);
        let mut happenings = 0;
        while self.auditor.violations.is_empty() && !self.is_over() {
            let Some(((at_us, _), what)) = self.queue.pop_first() else {
                break;
            };
            self.now_us = at_us;
            self.happen(what);
            self.turn_page();
            happenings += 1;
            if at_us > PATIENCE_US || happenings > HAPPENINGS_MAX {
                let mut stuck = self.clients.stuck();
                stuck.truncate(5);
                let left = self.nodes.iter().map(|node| (node.is_idle(), node.left()));
                let left: Vec<_> = left.collect();
                self.auditor.found(format!(
                    "no end in sight ({:?}): {stuck:#?}, left {left:?}",
                    self.phase
                ));
            }
        }
        if self.auditor.violations.is_empty() {
            let tokens = std::mem::take(&mut self.plan.tokens);
            self.auditor
                .at_the_end(&self.town, &self.nodes, &self.clients, &tokens);
        }
        self.report()
    }

    fn report(mut self) -> Report {
        self.tally.flows = self.clients.all.len() as u64;
        self.tally.simulated_ms = self.now_us / 1_000;
        let outcomes = self
            .clients
            .all
            .iter()
            .filter_map(|client| client.outcome.as_ref());
        self.tally.transactions = outcomes
            .map(|outcome| outcome.transactions.len() as u64)
            .sum();
        let (trace, lines, text) = self.trace.finish();
        Report {
            options: self.options,
            trace,
            lines,
            text,
            violations: self.auditor.violations,
            tally: self.tally,
        }
    }

    /// Nothing is on its way and nothing is left to do.
    fn is_over(&self) -> bool {
        let on_its_way = || {
            self.queue
                .values()
                .any(|what| matches!(what, What::Arrival { .. } | What::Client(_)))
        };
        self.phase == Phase::Rest
            && self.nodes.iter().all(Node::is_idle)
            && !on_its_way()
            && self.nodes.iter().all(|node| node.left().is_empty())
    }

    /// Goes on to the next phase when all clients of this one are done.
    fn turn_page(&mut self) {
        if self.clients.unfinished > 0 {
            return;
        }
        match self.phase {
            Phase::Funding => {
                self.phase = Phase::Work;
                self.links.weather = self.plan.weather;
                let work = std::mem::take(&mut self.plan.work);
                self.add_clients(work);
                for (at_us, fault) in std::mem::take(&mut self.plan.faults) {
                    self.at(at_us, What::Fault(fault));
                }
                self.at(self.plan.calm_us, What::Calm);
            }
            Phase::Work if !self.calm => {}
            Phase::Work => self.sweep(0),
            Phase::Sweep(0) => self.sweep(1),
            Phase::Sweep(_) => self.phase = Phase::Rest,
            Phase::Rest => {}
        }
    }

    /// One bank pays everything it has to the other.
    fn sweep(&mut self, which: usize) {
        self.phase = Phase::Sweep(which);
        let (from, to) = (BANKS[which], BANKS[1 - which]);
        let tokens = &self.plan.tokens;
        let held = Auditor::predicted(&self.clients, tokens.len());
        let sweeps = (0..tokens.len()).filter_map(|token| {
            let quantity = u64::try_from(held[token][from])
                .ok()
                .filter(|held| *held > 0)?;
            Some(sweep(&self.town, tokens, token, from, to, quantity))
        });
        let sweeps = sweeps.collect();
        self.add_clients(sweeps);
    }

    fn add_clients(&mut self, flows: Vec<crate::plan::PlannedFlow>) {
        for client in self.clients.add(flows) {
            let at_us = self.clients.all[client].plan.at_us;
            self.at(at_us, What::Client(client));
            if self.chance.per_mille(self.plan.double_starts) {
                self.at(at_us + 50, What::Client(client));
            }
        }
    }

    /// Something is to come after so many microseconds.
    pub(crate) fn at(&mut self, after_us: u64, what: What) {
        self.tie += 1;
        self.queue.insert((self.now_us + after_us, self.tie), what);
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Round { node, life } => {
                let due = self.nodes[node]
                    .round_at_us
                    .is_some_and(|at| at <= self.now_us);
                if self.nodes[node].life == life && due {
                    self.round(node);
                }
            }
            What::Synced { node, life } if self.nodes[node].life == life => self.synced(node),
            What::Viewed { node, life } if self.nodes[node].life == life => self.viewed(node),
            What::Synced { .. } | What::Viewed { .. } => {}
            What::Arrival {
                from,
                to,
                generation,
                bytes,
            } => {
                if self.links.carries(from, to, generation) {
                    let peer = self.town.ids[from];
                    self.mail(to, Event::Message { peer, bytes });
                } else {
                    self.tally.messages_lost += 1;
                }
            }
            What::Connect { pair } => {
                self.connect(pair);
                let later = self.chance.between(5_000, 60_000);
                self.at(later, What::Connect { pair });
            }
            What::Up(told) => {
                if self.links.told_up(&told) {
                    let peer = self.town.ids[told.peer];
                    let epoch = told.peer as u64 + 1;
                    self.mail(told.node, Event::PeerUp { peer, epoch });
                }
            }
            What::Down(told) => {
                if self.links.told_down(told.node, told.peer) {
                    let peer = self.town.ids[told.peer];
                    self.mail(told.node, Event::PeerDown { peer });
                }
            }
            What::Client(client) => self.client_asks(client),
            What::Fault(Fault::Crash {
                node,
                steps,
                down_us,
            }) => {
                let node = &mut self.nodes[node];
                node.fuse = Some(node.fuse.map_or(steps, |fuse| fuse.min(steps)));
                node.down_us = down_us;
            }
            What::Fault(Fault::Partition { pair, for_us }) => {
                self.note(pair.0, format_args!("partition from {}", SHORT[pair.1]));
                self.cut(pair, self.now_us + for_us);
            }
            What::Restart { node } => self.start_node(node),
            What::Calm => self.calm(),
        }
    }

    fn connect(&mut self, pair: (usize, usize)) {
        if self.nodes[pair.0].is_up()
            && self.nodes[pair.1].is_up()
            && let Some(both) = self.links.connect(pair, self.now_us, &mut self.chance)
        {
            for told in both {
                self.at(told.at_us - self.now_us, What::Up(told));
            }
        }
    }

    fn cut(&mut self, pair: (usize, usize), until_us: u64) {
        let told = self
            .links
            .cut(pair, self.now_us, until_us, &mut self.chance);
        self.tally.breaks += u64::from(!told.is_empty());
        for told in told {
            self.at(told.at_us - self.now_us, What::Down(told));
        }
    }

    /// The faults are over. A crash that waited for steps which never came happens now: each run has one at least.
    fn calm(&mut self) {
        for node in 0..NODES {
            if self.nodes[node].fuse.is_some() && self.nodes[node].is_up() {
                self.crash(node);
            }
            self.nodes[node].fuse = None;
        }
        (self.links.weather.lost, self.links.weather.doubled) = (0, 0);
        self.calm = true;
    }

    fn client_asks(&mut self, client: usize) {
        let node = self.clients.all[client].plan.node;
        if !self.nodes[node].is_up() {
            let later = self.chance.between(1_000, 50_000);
            return self.at(later, What::Client(client));
        }
        let loses_id = self.options.bug == Some(Bug::ClientIdLost);
        if let Some(event) = self.clients.start(client, loses_id, &mut self.chance) {
            self.note(node, format_args!("client {client} asks"));
            self.mail(node, event);
        }
    }

    /// An event for a node: it is taken in its next round.
    pub(crate) fn mail(&mut self, node: usize, event: Event) {
        if self.nodes[node].is_up() {
            self.nodes[node].mailbox.push(event);
            let soon = self.chance.between(5, 150);
            self.round_at(node, self.now_us + soon);
        }
    }

    pub(crate) fn round_at(&mut self, node: usize, at_us: u64) {
        let one = &mut self.nodes[node];
        if one.round_at_us.is_none_or(|due| at_us < due) {
            one.round_at_us = Some(at_us);
            let life = one.life;
            self.at(
                at_us.saturating_sub(self.now_us),
                What::Round { node, life },
            );
        }
    }

    /// The time on a node's clock.
    pub(crate) fn clock(&self, node: usize) -> Timestamp {
        Timestamp::from_ms(BEGINNING_MS + self.nodes[node].ahead_ms + self.now_us / 1_000)
    }

    fn start_node(&mut self, node: usize) {
        if self.nodes[node].is_up() {
            return;
        }
        let options = KernelOptions {
            entropy: self.chance.bytes32(),
            notary: (node == NOTARY).then_some(self.plan.notary),
            ..self.plan.kernel.clone()
        };
        let (now, identity) = (self.clock(node), self.town.identity(node));
        let one = &mut self.nodes[node];
        one.life += 1;
        one.round_at_us = None;
        let key = &self.town.parties[node].key;
        one.view
            .rebuild(one.disk.durable(), self.town.contracts(), key);
        let mut out = Vec::new();
        match Kernel::open(options, identity, &one.disk, now, &mut out) {
            Ok(kernel) => one.kernel = Some(kernel),
            Err(error) => {
                return self
                    .auditor
                    .found(format!("{} does not start: {error}", SHORT[node]));
            }
        }
        self.note(node, format_args!("starts"));
        self.perform(node, out);
        self.round_at(node, self.now_us + 10);
    }

    /// The power goes.
    pub(crate) fn crash(&mut self, node: usize) {
        let tear = self.options.bug == Some(Bug::BatchTorn);
        let one = &mut self.nodes[node];
        let waiting = one.committer.len();
        let survived = one.committer.crash(&mut one.disk, &mut self.chance, tear);
        one.disk.crash();
        one.kernel = None;
        one.life += 1;
        one.mailbox.clear();
        one.round_at_us = None;
        one.fuse = None;
        one.view_busy = false;
        one.crashes += 1;
        let down_us = one.down_us;
        self.tally.crashes += 1;
        self.tally.batches_lost += (waiting - survived.min(waiting)) as u64;
        self.note(
            node,
            format_args!("crashes; {survived} of {waiting} batches survive"),
        );
        for peer in (0..NODES).filter(|peer| *peer != node) {
            self.links.told_down(node, peer);
            self.cut((node, peer), self.now_us);
        }
        for client in self.clients.node_is_gone(node) {
            let later = self.chance.between(100, 30_000);
            self.at(later, What::Client(client));
        }
        self.at(down_us, What::Restart { node });
    }

    pub(crate) fn note(&mut self, node: usize, what: std::fmt::Arguments<'_>) {
        self.trace.note(self.now_us, SHORT[node], what);
    }
}
