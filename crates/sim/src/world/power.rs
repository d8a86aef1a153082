//! Starts and crashes of nodes, and their connections.

use kernel::folder::{FolderContents, FolderRecord};
use kernel::port::Table;
use kernel::{Kernel, KernelOptions};
use primitives::PublicKey;

use crate::Bug;
use crate::membership::{NODES, SHORT, is_notary};
use crate::workers::ShuffledWorkers;
use crate::world::{What, World};

impl World {
    pub(crate) fn connect(&mut self, pair: (usize, usize)) {
        if self.nodes[pair.0].is_up()
            && self.nodes[pair.1].is_up()
            && let Some(both) = self.links.connect(pair, self.now_us, &mut self.chance)
        {
            for told in both {
                self.at(told.at_us - self.now_us, What::Up(told));
            }
        }
    }

    pub(crate) fn cut(&mut self, pair: (usize, usize), until_us: u64) {
        let told = self
            .links
            .cut(pair, self.now_us, until_us, &mut self.chance);
        self.tally.breaks += u64::from(!told.is_empty());
        for told in told {
            self.at(told.at_us - self.now_us, What::Down(told));
        }
    }

    /// Ends the faults. A crash that still waits for its steps happens now, so that each run has at least one.
    pub(crate) fn calm(&mut self) {
        for node in 0..NODES {
            if self.nodes[node].fuse.is_some() && self.nodes[node].is_up() {
                self.crash(node);
            }
            self.nodes[node].fuse = None;
        }
        (self.links.weather.lost, self.links.weather.doubled) = (0, 0);
        self.set_clocks_right();
        self.calm = true;
    }

    pub(crate) fn start_node(&mut self, node: usize) {
        if self.nodes[node].is_up() {
            return;
        }
        let options = KernelOptions {
            entropy: self.chance.bytes32().into(),
            notary: is_notary(node).then_some(self.plan.notary),
            ..self.plan.kernel.clone()
        };
        let (now, identity) = (self.clock(node), self.membership.identity(node));
        let one = &mut self.nodes[node];
        one.life += 1;
        one.round_at_us = None;
        let key = &self.membership.parties[node].key;
        let unseen = self.options.bug == Some(Bug::FreshKeysUnseen);
        let tables = one.disk.durable();
        let is_ours = |other: &PublicKey| {
            let fresh = || kernel::is_own_key(other, tables).expect("tables in memory");
            other == key || (!unseen && fresh())
        };
        one.view
            .rebuild(tables, self.membership.contracts(), &is_ours);
        let mut out = Vec::new();
        // A simulated folder has no audit log, and its program lacks no contract.
        let contents = FolderContents::default();
        let folder = FolderRecord::compare(&contents, &identity, &options.entropy, &one.disk);
        let opened = folder.and_then(|(folder, rows)| {
            one.disk.write(&rows);
            one.disk.sync(&rows);
            one.epoch = folder.epoch();
            Kernel::open(options, identity, folder, &one.disk, now, &mut out)
        });
        match opened {
            Ok(kernel) => {
                let misorders = self.options.bug == Some(Bug::JobsMisordered);
                let workers = ShuffledWorkers::new(self.chance.fork(), misorders);
                one.kernel = Some(kernel.with_workers(Box::new(workers)));
            }
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

    /// Cuts the power of a node.
    pub(crate) fn crash(&mut self, node: usize) {
        let tear = self.options.bug == Some(Bug::BatchTorn);
        let one = &mut self.nodes[node];
        let waiting = one.committer.len();
        let survived = one.committer.crash(&mut one.disk, &mut self.chance, tear);
        one.disk.crash();
        if self.options.bug == Some(Bug::ScheduleLost) {
            one.disk.lose(Table::Schedule);
        }
        if self.options.bug == Some(Bug::FilesLost) {
            one.disk.lose(Table::Attachments);
        }
        one.kernel = None;
        one.life += 1;
        one.mailbox.clear();
        one.round_at_us = None;
        one.fuse = None;
        one.view_busy = false;
        // After the restart, the clock may be behind its earlier time.
        one.ahead_ms = self.chance.between(0, 2_000);
        let down_us = one.down_us;
        self.files_crash(node);
        self.forget_blame(node);
        self.tally.crashes += 1;
        self.tally.batches_lost += (waiting - survived.min(waiting)) as u64;
        self.note(
            node,
            format_args!("crashes; {survived} of {waiting} batches survive"),
        );
        for peer in (0..NODES).filter(|peer| *peer != node) {
            self.links.forget(node, peer);
            self.cut((node, peer), self.now_us);
        }
        for client in self.clients.node_is_gone(node) {
            let later = self.chance.between(100, 30_000);
            self.at(later, What::Client(client));
        }
        self.at(down_us, What::Restart { node });
    }
}
