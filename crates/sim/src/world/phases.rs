//! The phases of a simulation. Cash is issued, the work is done while faults happen, each bank pays everything to the other, and
//! then all nodes must become idle.

use kernel::Event;
use kernel::port::Table;

use crate::Bug;
use crate::auditor::Auditor;
use crate::membership::BANKS;
use crate::node::Node;
use crate::phase::Phase;
use crate::planned_flow::{PlannedFlow, WORK_US, sweep};
use crate::world::{What, World};

impl World {
    /// Returns whether no message is in flight and no node has work left.
    pub(crate) fn is_over(&self) -> bool {
        let on_its_way = || {
            self.queue.values().any(|what| match what {
                What::Arrival { .. } | What::Client(_) | What::Replay { .. } => true,
                What::Told { event, .. } => matches!(**event, Event::HistoryLookedUp { .. }),
                _ => false,
            })
        };
        self.phase == Phase::Rest
            && self.nodes.iter().all(Node::is_idle)
            && !on_its_way()
            && self.nodes.iter().all(|node| node.left().is_empty())
    }

    /// Returns whether all nodes are idle and no state has scheduled a flow.
    fn is_settled(&self) -> bool {
        self.nodes.iter().all(|node| {
            let scheduled = node.disk.durable().rows(Table::Schedule).len();
            node.is_idle() && scheduled == 0 && node.left().is_empty()
        })
    }

    /// Starts the next phase when all clients of the current one are done.
    pub(crate) fn turn_page(&mut self) {
        if self.do_without() || self.clients.unfinished > 0 {
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
                self.plan_clocks();
                if self.garbage.is_some() {
                    self.at(0, What::Garbage);
                }
                if self.replayer.is_some() {
                    self.at(0, What::RepeatMessage);
                }
                if self.options.rollback {
                    let later = self.chance.between(1, WORK_US);
                    self.at(later, What::CopyDisks);
                }
            }
            Phase::Work if !self.calm || !self.is_settled() => {}
            Phase::Work => self.sweep(0),
            Phase::Sweep(0) => self.sweep(1),
            Phase::Sweep(_) => self.phase = Phase::Rest,
            Phase::Rest => {}
        }
    }

    /// Lets one bank pay everything to the other.
    pub(crate) fn sweep(&mut self, which: usize) {
        self.phase = Phase::Sweep(which);
        let (from, to) = (BANKS[which], BANKS[1 - which]);
        let tokens = &self.plan.tokens;
        let held = Auditor::predicted(&self.clients, tokens.len());
        let sweeps = (0..tokens.len()).filter_map(|token| {
            let quantity = u64::try_from(held[token][from])
                .ok()
                .filter(|held| *held > 0)?;
            Some(sweep(&self.membership, tokens, token, from, to, quantity))
        });
        let sweeps = sweeps.collect();
        self.add_clients(sweeps);
    }

    pub(crate) fn add_clients(&mut self, flows: Vec<PlannedFlow>) {
        for client in self.clients.add(flows) {
            let at_us = self.clients.all[client].plan.at_us;
            self.at(at_us, What::Client(client));
            if self.chance.per_mille(self.plan.double_starts) {
                self.at(at_us + 50, What::Client(client));
            }
        }
    }

    pub(crate) fn client_asks(&mut self, client: usize) {
        let node = self.clients.all[client].plan.node;
        if !self.nodes[node].is_up() {
            let later = self.chance.between(1_000, 50_000);
            return self.at(later, What::Client(client));
        }
        let loses_id = self.options.bug == Some(Bug::ClientIdLost);
        if let Some((hash, size)) = self.clients.all[client].plan.upload {
            self.upload(node, hash, size);
        }
        if let Some(event) = self.clients.start(client, loses_id, &mut self.chance) {
            self.note(node, format_args!("client {client} asks"));
            self.mail(node, event);
        }
    }
}
