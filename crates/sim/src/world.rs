//! The simulated world: one queue of scheduled events, processed in the order of their times.

use std::collections::BTreeMap;

use flow::SessionId;
use kernel::Event;
use ledger::{TimeWindow, TxId};
use primitives::{Moment, Monotonic, Timestamp};

use crate::adversary::{Garbage, Replayer, Silence};
use crate::auditor::Auditor;
use crate::chance::Chance;
use crate::clients::Clients;
use crate::epilogue::Epilogue;
use crate::files::{Files, Step};
use crate::links::{LinkNotice, Links};
use crate::node::Node;
use crate::phases::Phase;
use crate::plan::{Fault, Plan};
use crate::repeater::Repeater;
use crate::report::{Report, Tally};
use crate::town::{BEGINNING_MS, NODES, SHORT, Town, pairs};
use crate::trace::Trace;
use crate::view::View;
use crate::{Adversary, Bug, SimOptions};

/// Simulated time after which a simulation counts as stuck, in microseconds.
const PATIENCE_US: u64 = 3_600_000_000;
/// Number of events after which a simulation counts as stuck.
const HAPPENINGS_MAX: u64 = 2_000_000;

/// A scheduled event.
pub(crate) enum What {
    /// A node's round, unless an earlier one was scheduled.
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
    Up(LinkNotice),
    Down(LinkNotice),
    /// The next step of a file transfer.
    File(Box<Step>),
    /// A client starts its flow, or asks again.
    Client(usize),
    /// A client cancels its flow.
    Cancel(usize),
    Fault(Fault),
    Restart {
        node: usize,
    },
    /// The end of the faults.
    Calm,
    /// A session is replayed.
    Replay {
        session: SessionId,
        looks: u32,
    },
    /// A single message is sent again.
    RepeatMessage,
    /// A node's clock is set.
    SetClock {
        node: usize,
        off_ms: i64,
    },
    /// A burst of garbage is sent.
    Garbage,
    /// The silent counterparty sends messages again.
    Speak,
    /// The planted bug frees locks.
    FreeLocks,
    /// The adversary copies all disks.
    CopyDisks,
}

/// The state of a simulation.
pub(crate) struct World {
    pub(crate) options: SimOptions,
    pub(crate) town: Town,
    pub(crate) plan: Plan,
    pub(crate) chance: Chance,
    pub(crate) now_us: u64,
    pub(crate) queue: BTreeMap<(u64, u64), What>,
    tie: u64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Links,
    pub(crate) repeater: Repeater,
    pub(crate) replayer: Option<Replayer>,
    pub(crate) garbage: Option<Garbage>,
    pub(crate) silence: Option<Silence>,
    /// Time windows of the transactions that notaries were asked to sign.
    pub(crate) windows: BTreeMap<TxId, TimeWindow>,
    pub(crate) files: Files,
    pub(crate) clients: Clients,
    pub(crate) auditor: Auditor,
    pub(crate) trace: Trace,
    pub(crate) tally: Tally,
    pub(crate) phase: Phase,
    pub(crate) calm: bool,
    pub(crate) epilogue: Epilogue,
}

impl World {
    pub(crate) fn new(options: &SimOptions) -> Self {
        // Every fourth network has a validating notary.
        let town = Town::new(options.seed.is_multiple_of(4));
        let mut chance = Chance::new(options.seed);
        let plan = Plan::new(options, &town, &mut chance);
        let nodes = plan.ahead_ms.map(|ahead_ms| {
            let view = View::new(options.bug == Some(Bug::ViewStale));
            Node::new(plan.shows_unsynced, view, ahead_ms)
        });
        let of = |one: Adversary| (plan.adversary == one).then(|| chance.clone().fork());
        let garbage = of(Adversary::Garbage).map(Garbage::new);
        let silence = of(Adversary::Silent).map(Silence::new);
        let replayer = of(Adversary::Replayer).map(Replayer::new);
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
            replayer,
            garbage,
            silence,
            windows: BTreeMap::new(),
            files: Files::default(),
            clients: Clients::default(),
            auditor: Auditor {
                refusals_expected: plan.adversary == Adversary::Garbage,
                ..Auditor::default()
            },
            trace: Trace::new(options.keep_trace),
            tally: Tally::default(),
            phase: Phase::Funding,
            calm: false,
            epilogue: Epilogue::default(),
            plan,
        }
    }

    /// Runs the simulation to its end and audits it.
    pub(crate) fn run(mut self) -> Report {
        for node in 0..NODES {
            self.start_node(node);
        }
        for pair in pairs() {
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
            self.auditor.at_the_end(
                &self.town,
                &self.nodes,
                &self.clients,
                &tokens,
                &self.plan.loose,
            );
            self.auditor
                .check_files(&self.town, &self.nodes, &self.files.whole);
            if self.options.rollback && self.auditor.violations.is_empty() {
                self.roll_back(&tokens);
            }
        }
        self.report()
    }

    fn report(mut self) -> Report {
        self.tally.flows = self.clients.all.len() as u64;
        self.tally.simulated_ms = self.now_us / 1_000;
        let cancelled = self.clients.all.iter().filter(|client| client.is_killed());
        self.tally.cancelled = cancelled.count() as u64;
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

    /// Schedules an event after this many microseconds.
    pub(crate) fn at(&mut self, after_us: u64, what: What) {
        self.tie += 1;
        self.queue.insert((self.now_us + after_us, self.tie), what);
    }

    pub(crate) fn happen(&mut self, what: What) {
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
                if self.links.told_down(&told) {
                    let peer = self.town.ids[told.peer];
                    self.mail(told.node, Event::PeerDown { peer });
                }
            }
            What::File(step) => self.on_file_step(*step),
            What::Client(client) => self.client_asks(client),
            What::Cancel(client) => {
                let node = self.clients.all[client].plan.node;
                if self.nodes[node].is_up()
                    && let Some(event) = self.clients.cancel(client)
                {
                    self.mail(node, event);
                }
            }
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
            What::Replay { session, looks } => self.replay(session, looks),
            What::RepeatMessage => self.repeat_message(),
            What::SetClock { node, off_ms } => self.set_clock(node, off_ms),
            What::Garbage => self.send_garbage(),
            What::Speak => self.speak(),
            What::FreeLocks => self.free_locks(),
            What::CopyDisks => self.copy_disks(),
        }
    }

    /// Puts an event into a node's mailbox. The node handles it in its next round.
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

    /// Returns the times that a node's clocks show.
    pub(crate) fn clock(&self, node: usize) -> Moment {
        let ms = self.now_us / 1_000;
        let right_ms = BEGINNING_MS + self.nodes[node].ahead_ms + ms;
        let mut wall_ms = right_ms.saturating_add_signed(self.nodes[node].off_ms);
        if let Some(at_us) = self.stands_still_at_us(node) {
            wall_ms = BEGINNING_MS + at_us / 1_000;
        }
        Moment::new(Monotonic::from_ms(ms), Timestamp::from_ms(wall_ms))
    }

    pub(crate) fn note(&mut self, node: usize, what: std::fmt::Arguments<'_>) {
        self.trace.note(self.now_us, SHORT[node], what);
    }
}
