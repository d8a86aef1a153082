//! The simulated world: one queue of scheduled events, processed in the order of their times.

use std::collections::BTreeMap;

use flow::SessionId;
use kernel::Event;
use kernel::port::StoreFailure;
use ledger::{TimeWindow, TxId};
use notary::{UniquenessAnswer, UniquenessCheck};
use primitives::{Moment, Monotonic, Timestamp};

use crate::adversary::{Garbage, Replayer, Silence};
use crate::auditor::Auditor;
use crate::chance::Chance;
use crate::clients::Clients;
use crate::epilogue::Epilogue;
use crate::files::{Files, Step};
use crate::flow_registry::all_flows;
use crate::links::{LinkNotice, Links};
use crate::membership::{BEGINNING_MS, Membership, SHORT};
use crate::node::Node;
use crate::phase::Phase;
use crate::plan::{Fault, Plan};
use crate::repeater::Repeater;
use crate::report::Tally;
use crate::trace::Trace;
use crate::view::View;
use crate::{Adversary, Bug, SimOptions};

mod clocks;
mod events;
mod files;
mod garbage;
mod perform;
mod phases;
mod power;
mod replays;
mod rollback;
mod silence;

/// The answer of a notary's store, or its failure.
pub(crate) type Answer = Result<UniquenessAnswer, StoreFailure>;

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
    /// A notary's store answers a question.
    Checked {
        node: usize,
        life: u64,
        check: UniquenessCheck,
        /// The answer of the rows at the time of the question, if it is the one.
        early: Option<Answer>,
    },
    /// Another thread of a node has an answer for the kernel.
    Told {
        node: usize,
        life: u64,
        event: Box<Event>,
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
    pub(crate) membership: Membership,
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
        let membership = Membership::new(options.seed.is_multiple_of(4), all_flows());
        let mut chance = Chance::new(options.seed);
        let plan = Plan::new(options, &membership, &mut chance);
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
            membership,
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

    /// Schedules an event after this many microseconds.
    pub(crate) fn at(&mut self, after_us: u64, what: What) {
        self.tie += 1;
        self.queue.insert((self.now_us + after_us, self.tie), what);
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
            // Clipped at 0: a round that is overdue runs now.
            let in_us = at_us.saturating_sub(self.now_us);
            self.at(in_us, What::Round { node, life });
        }
    }

    /// Returns the times that a node's clocks show.
    pub(crate) fn clock(&self, node: usize) -> Moment {
        let ms = self.now_us / 1_000;
        let right_ms = BEGINNING_MS + self.nodes[node].ahead_ms + ms;
        let wall_ms = right_ms.checked_add_signed(self.nodes[node].off_ms);
        let mut wall_ms = wall_ms.expect("clock faults are far smaller than the time of day");
        if let Some(at_us) = self.stands_still_at_us(node) {
            wall_ms = BEGINNING_MS + at_us / 1_000;
        }
        Moment::new(Monotonic::from_ms(ms), Timestamp::from_ms(wall_ms))
    }

    pub(crate) fn note(&mut self, node: usize, what: std::fmt::Arguments<'_>) {
        self.trace.note(self.now_us, SHORT[node], what);
    }
}
