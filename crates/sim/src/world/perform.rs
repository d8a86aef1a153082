//! Rounds of a node, and the performance of their actions. A node may crash before any step.

use kernel::message::PeerMessage;
use kernel::port::Table;
use kernel::{Action, Event, HistoryLookUp, Priority, Reply, SignatureBatch};
use notary::{UniquenessCheck, UniquenessOutcome};
use primitives::{Decode, Encode, SignatureChecker};

use crate::clients::Next;
use crate::committer::Pending;
use crate::epilogue::EPILOGUE_TOKEN;
use crate::membership::{NOTARY, OTHER_NOTARY, SHORT};
use crate::swarm::RESPONDERS_MAX;
use crate::trace::short;
use crate::view::Job;
use crate::world::{Answer, What, World};
use crate::{Adversary, Bug};

impl World {
    /// Takes a step of a node. Returns false if the node is down or crashes instead.
    fn step(&mut self, node: usize) -> bool {
        let one = &mut self.nodes[node];
        if !one.is_up() {
            return false;
        }
        match &mut one.fuse {
            Some(0) => {
                self.crash(node);
                false
            }
            Some(steps) => {
                *steps -= 1;
                true
            }
            None => true,
        }
    }

    /// Handles the events in a node's mailbox and performs the resulting actions.
    pub(crate) fn round(&mut self, node: usize) {
        self.nodes[node].round_at_us = None;
        let mut events = std::mem::take(&mut self.nodes[node].mailbox);
        if events.is_empty() {
            events.push(Event::Tick);
        }
        let now = self.clock(node);
        let mut events = events.into_iter();
        while let Some(event) = events.next() {
            if !self.step(node) {
                return;
            }
            self.note_event(node, &event);
            let one = &mut self.nodes[node];
            let Some(kernel) = &mut one.kernel else {
                return;
            };
            if let Err(failure) = kernel.handle(event, now, &one.disk) {
                return self.auditor.found(format!("{}: {failure}", SHORT[node]));
            }
            if kernel.is_full() && events.len() > 0 {
                one.mailbox.extend(events.by_ref());
                self.round_at(node, self.now_us + 20);
            }
        }
        if !self.step(node) {
            return;
        }
        let mut out = Vec::new();
        let one = &mut self.nodes[node];
        let Some(kernel) = &mut one.kernel else {
            return;
        };
        if let Err(failure) = kernel.flush(now, &one.disk, &mut out) {
            return self.auditor.found(format!("{}: {failure}", SHORT[node]));
        }
        let usage = kernel
            .flows()
            .peer_usage(&self.membership.ids[OTHER_NOTARY]);
        let wakeup = kernel.next_wakeup();
        self.check_share(node, usage);
        self.check_blame(node);
        self.perform(node, out);
        if let Some(at) = wakeup.filter(|_| self.nodes[node].is_up()) {
            // A wake-up beyond the range never comes.
            let at_us = at.as_ms().saturating_mul(1_000);
            self.round_at(node, at_us.max(self.now_us + 20));
        }
    }

    /// Checks that no peer uses more than its share of responders, regardless of its behaviour and of crashes.
    fn check_share(&mut self, node: usize, usage: flow::PeerUsage) {
        if self.plan.adversary != Adversary::Swarm {
            return;
        }
        let most = RESPONDERS_MAX / 2;
        if usage.responders > most {
            let text = format!("{}: {usage:?}, at most {most}", SHORT[node]);
            self.auditor.found(text);
        }
        self.tally.sessions_refused = self.tally.sessions_refused.max(usage.refused);
    }

    /// Performs a kernel's actions.
    pub(crate) fn perform(&mut self, node: usize, actions: Vec<Action>) {
        for action in actions {
            if !self.step(node) {
                return;
            }
            match action {
                Action::Commit {
                    number,
                    batch,
                    then,
                } => {
                    self.submit(
                        node,
                        Pending {
                            number,
                            batch,
                            then,
                        },
                    );
                }
                action => self.perform_now(node, action),
            }
        }
    }

    fn submit(&mut self, node: usize, mut pending: Pending) {
        let writes = pending.batch.writes.len();
        let bytes = pending.batch.size_bytes();
        self.note(
            node,
            format_args!("writes batch {}: {writes} rows, {bytes}B", pending.number),
        );
        if node == NOTARY && self.options.bug == Some(Bug::ConsumptionForgotten) {
            pending
                .batch
                .writes
                .retain(|write| write.table != Table::NotaryStates);
        }
        if self.options.bug == Some(Bug::ClaimsForgotten) {
            pending
                .batch
                .writes
                .retain(|write| write.table != Table::Claims);
        }
        self.check_windows(node, &pending.batch);
        self.tally.pruned += self.auditor.on_history(node, &pending.batch);
        let skipped =
            (self.options.bug == Some(Bug::SyncSkipped)).then(|| std::mem::take(&mut pending.then));
        let number = pending.number;
        let one = &mut self.nodes[node];
        one.disk.write(&pending.batch);
        one.committer.submit(pending);
        self.start_sync(node);
        if let Some(then) = skipped {
            self.perform(node, then);
            self.mail(node, Event::Committed { number });
        }
    }

    fn start_sync(&mut self, node: usize) {
        if self.nodes[node].committer.start() {
            let (least, most) = self.plan.sync_us;
            let slow = self.chance.per_mille(50);
            let latency = self
                .chance
                .between(least, if slow { most * 5 } else { most });
            let life = self.nodes[node].life;
            self.at(latency, What::Synced { node, life });
        }
    }

    pub(crate) fn synced(&mut self, node: usize) {
        let one = &mut self.nodes[node];
        let done = one.committer.synced(&mut one.disk);
        for pending in done {
            if !self.step(node) {
                return;
            }
            let number = pending.number;
            self.note(node, format_args!("batch {number} is durable"));
            if self.options.bug != Some(Bug::SyncSkipped) {
                self.perform(node, pending.then);
                self.mail(node, Event::Committed { number });
            }
        }
        if self.nodes[node].is_up() {
            self.start_sync(node);
        }
    }

    fn perform_now(&mut self, node: usize, action: Action) {
        match action {
            Action::Send {
                peer,
                priority,
                bytes,
            } => {
                if let Some(to) = self.membership.node_of(&peer) {
                    self.send(node, to, priority, bytes);
                }
            }
            Action::Reply { token, reply } if token.0 >= EPILOGUE_TOKEN => {
                self.epilogue.replies.insert(token.0, reply);
            }
            Action::Reply { token, reply } => {
                self.note(node, format_args!("answers {}: {reply:?}", token.0));
                if let Some((client, wait)) = self.clients.waiting_for(token) {
                    let one = &self.clients.all[client];
                    let cancelled_after_us = one.plan.cancelled_after_us;
                    self.auditor
                        .on_reply(&self.membership, &self.nodes, one, wait, &reply);
                    if let (Some(after_us), Reply::Accepted { .. }) = (cancelled_after_us, &reply) {
                        self.at(after_us, What::Cancel(client));
                    }
                }
                match self.clients.answered(token, &reply) {
                    Next::Nothing => {}
                    Next::Again { client, after_us } => self.at(after_us, What::Client(client)),
                    Next::Wrong(what) => self.auditor.found(what),
                }
            }
            Action::View {
                seq, id, changes, ..
            } => {
                self.note(
                    node,
                    format_args!("shows {seq}: {id}, {} changes", changes.len()),
                );
                if !self.epilogue.is_running() {
                    self.auditor
                        .on_view(&self.membership, &self.nodes, node, &id);
                }
                self.nodes[node].view.push(Job::Feed { seq, changes });
                self.start_view(node);
            }
            Action::Quarantined(state) => {
                self.note(node, format_args!("has {state} in quarantine"));
                self.nodes[node].view.push(Job::Quarantine(state));
                self.start_view(node);
            }
            Action::Refill(request) => {
                self.note(node, format_args!("asks its view: {request:?}"));
                self.nodes[node].view.push(Job::Refill(request));
                self.start_view(node);
            }
            Action::LookUp { flow, effect, what } => {
                self.note(
                    node,
                    format_args!("asks its view for flow {flow}: {what:?}"),
                );
                self.nodes[node]
                    .view
                    .push(Job::LookUp { flow, effect, what });
                self.start_view(node);
            }
            Action::LookUpHistory(look_up) => self.look_up_history(node, &look_up),
            Action::CheckUniqueness(check) => self.check_uniqueness(node, check),
            Action::CheckSignatures(batch) => self.check_signatures(node, batch),
            Action::FetchFile { .. }
            | Action::AbandonFile { .. }
            | Action::PermitFile { .. }
            | Action::DropFile { .. } => self.file_action(node, action),
            Action::CutOff { peer, ms } => {
                if let Some(peer) = self.membership.node_of(&peer) {
                    self.cut_off(node, peer, ms);
                }
            }
            Action::Drained | Action::Scheduled { .. } => {}
            Action::Log {
                warning,
                code,
                message,
            } => {
                self.note(node, format_args!("says {code}: {message}"));
                if warning && !self.is_expected(code) {
                    self.auditor
                        .found(format!("{} warns: {code}: {message}", SHORT[node]));
                }
            }
            // A kernel does not nest commits.
            Action::Commit { number, .. } => {
                self.auditor
                    .found(format!("commit {number} is inside another one"));
            }
        }
    }

    /// Returns whether a node may log this warning.
    fn is_expected(&self, code: &str) -> bool {
        let stands_still = self.options.bug == Some(Bug::LocksNeverFreed);
        let by_adversary =
            self.plan.adversary.expects(code) || stands_still && code == "node.clock_jumped";
        by_adversary || crate::files::is_expected(code) || self.epilogue.expects(code)
    }

    fn start_view(&mut self, node: usize) {
        let one = &mut self.nodes[node];
        if !one.view_busy && !one.view.is_idle() {
            one.view_busy = true;
            let life = one.life;
            let slow = self.chance.per_mille(100);
            let takes = self.chance.between(20, if slow { 30_000 } else { 300 });
            self.at(takes, What::Viewed { node, life });
        }
    }

    pub(crate) fn viewed(&mut self, node: usize) {
        self.nodes[node].view_busy = false;
        if let Some(event) = self.nodes[node].view.work() {
            self.mail(node, event);
        }
        self.start_view(node);
    }

    /// A node reads the oldest rows of its flow history. The answer comes after a while.
    fn look_up_history(&mut self, node: usize, look_up: &HistoryLookUp) {
        self.note(node, format_args!("reads its history: {look_up:?}"));
        let one = &self.nodes[node];
        let (life, found) = (one.life, kernel::look_up_history(look_up, &one.disk));
        let slow = self.chance.per_mille(100);
        let takes = self.chance.between(10, if slow { 30_000 } else { 300 });
        let event = Box::new(Event::HistoryLookedUp { found });
        self.at(takes, What::Told { node, life, event });
    }

    /// A notary's store is asked. It answers after a while, from the rows at the begin or at the end of this time.
    fn check_uniqueness(&mut self, node: usize, check: UniquenessCheck) {
        self.note(
            node,
            format_args!(
                "asks its store about {} states, question {}",
                check.states.len(),
                check.number
            ),
        );
        let one = &self.nodes[node];
        let life = one.life;
        let is_early = self.chance.per_mille(500);
        let early = is_early.then(|| kernel::check_uniqueness(&check, &one.disk));
        let slow = self.chance.per_mille(100);
        let takes = self.chance.between(10, if slow { 30_000 } else { 300 });
        let checked = What::Checked {
            node,
            life,
            check,
            early,
        };
        self.at(takes, checked);
    }

    pub(crate) fn checked(&mut self, node: usize, check: &UniquenessCheck, early: Option<Answer>) {
        let disk = &self.nodes[node].disk;
        // A check that did not finish early reads the present contents of the disk.
        let answer = early.unwrap_or_else(|| kernel::check_uniqueness(check, disk));
        let number = check.number;
        self.note(node, format_args!("has the answer to question {number}"));
        let outcome = answer.map(UniquenessOutcome::Found);
        self.mail(node, Event::UniquenessChecked { number, outcome });
    }

    /// Signatures are checked beside the rounds. The results come after a while.
    fn check_signatures(&mut self, node: usize, batch: SignatureBatch) {
        let (number, count) = (batch.number, batch.messages.len());
        self.note(
            node,
            format_args!("has {count} signatures checked, batch {number}"),
        );
        let good = SignatureChecker::new().check_batch(&batch.messages);
        let life = self.nodes[node].life;
        let slow = self.chance.per_mille(100);
        let takes = self.chance.between(10, if slow { 30_000 } else { 300 });
        let event = Event::SignaturesChecked { batch, good };
        self.at(
            takes,
            What::Told {
                node,
                life,
                event: Box::new(event),
            },
        );
    }

    fn send(&mut self, from: usize, to: usize, priority: Priority, bytes: Vec<u8>) {
        self.note(
            from,
            format_args!("sends {} to {}", short(&bytes), SHORT[to]),
        );
        self.auditor
            .on_send(&self.membership, &self.nodes, from, &bytes);
        self.overhear(from, to, priority, &bytes);
        self.note_window(&bytes);
        self.watch_promises(from, to, &bytes);
        let messages = match self.options.bug {
            Some(Bug::MessageRepeated) => self.repeater.instead_of(from, to, bytes),
            Some(Bug::DeliveryAcknowledgedEarly) => match self.acknowledged_early(from, to, &bytes)
            {
                true => return,
                false => vec![bytes],
            },
            _ => vec![bytes],
        };
        for bytes in messages {
            self.transmit(from, to, priority, bytes);
        }
    }

    /// Sends a message, which may be lost or arrive twice.
    pub(crate) fn transmit(&mut self, from: usize, to: usize, priority: Priority, bytes: Vec<u8>) {
        self.tally.messages += 1;
        if self.is_kept_back(from) {
            self.tally.messages_lost += 1;
            return;
        }
        let arrivals = self
            .links
            .send(from, to, priority, self.now_us, &mut self.chance);
        self.tally.messages_lost += u64::from(arrivals.is_empty());
        for (at_us, generation) in arrivals {
            let bytes = bytes.clone();
            let arrival = What::Arrival {
                from,
                to,
                generation,
                bytes,
            };
            self.at(at_us - self.now_us, arrival);
        }
    }

    /// Applies the planted bug: the transport acknowledges one delivery in ten itself.
    fn acknowledged_early(&mut self, from: usize, to: usize, bytes: &[u8]) -> bool {
        let Ok(PeerMessage::Deliver { transactions, .. }) = PeerMessage::from_bytes(bytes) else {
            return false;
        };
        if !self.chance.per_mille(100) {
            return false;
        }
        let decoded = transactions
            .iter()
            .filter_map(|t| ledger::SignedTransaction::from_bytes(t).ok());
        let ids = decoded.map(|transaction| transaction.id()).collect();
        let peer = self.membership.ids[to];
        let bytes = PeerMessage::Delivered { ids }.to_bytes();
        self.mail(from, Event::Message { peer, bytes });
        true
    }

    fn note_event(&mut self, node: usize, event: &Event) {
        match event {
            Event::Message { peer, bytes } => {
                let from = self
                    .membership
                    .node_of(peer)
                    .map_or("?", |from| SHORT[from]);
                self.note(node, format_args!("gets {} from {from}", short(bytes)));
            }
            Event::Start(start) => {
                self.note(
                    node,
                    format_args!("receives start {} of flow {}", start.token.0, start.name),
                );
            }
            Event::Refilled {
                rows,
                view_seq,
                total,
                ..
            } => {
                let count = rows.len();
                self.note(
                    node,
                    format_args!("gets {count} coins of {total} at {view_seq}"),
                );
            }
            other => self.note(node, format_args!("gets {other:?}")),
        }
    }
}
