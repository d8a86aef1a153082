//! The loop over all scheduled events.

use kernel::Event;

use crate::membership::{NODES, SHORT, pairs};
use crate::plan::Fault;
use crate::report::Report;
use crate::world::{What, World};

/// Simulated time after which a simulation counts as stuck, in microseconds.
const PATIENCE_US: u64 = 3_600_000_000;
/// Number of events after which a simulation counts as stuck.
const HAPPENINGS_MAX: u64 = 2_000_000;

impl World {
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
                    "the simulation does not end ({:?}): stuck {stuck:#?}, left {left:?}",
                    self.phase
                ));
            }
        }
        if self.auditor.violations.is_empty() {
            let tokens = std::mem::take(&mut self.plan.tokens);
            self.auditor.at_the_end(
                &self.membership,
                &self.nodes,
                &self.clients,
                &tokens,
                &self.plan.loose,
            );
            self.auditor
                .check_files(&self.membership, &self.nodes, &self.files.whole);
            let limit = self.plan.kernel.history.flows_max;
            for (node, one) in self.nodes.iter().enumerate() {
                self.auditor.check_history(node, limit, one.disk.durable());
            }
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
            What::Checked {
                node,
                life,
                check,
                early,
            } if self.nodes[node].life == life => self.checked(node, &check, early),
            What::Told { node, life, event } if self.nodes[node].life == life => {
                self.mail(node, *event);
            }
            What::Synced { .. }
            | What::Viewed { .. }
            | What::Checked { .. }
            | What::Told { .. } => {}
            What::Arrival {
                from,
                to,
                generation,
                bytes,
            } => {
                if self.links.carries(from, to, generation) {
                    let peer = self.membership.ids[from];
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
                    let peer = self.membership.ids[told.peer];
                    let epoch = self.nodes[told.peer].epoch;
                    self.mail(told.node, Event::PeerUp { peer, epoch });
                }
            }
            What::Down(told) => {
                if self.links.told_down(&told) {
                    let peer = self.membership.ids[told.peer];
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
}
