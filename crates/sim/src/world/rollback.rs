//! The adversary that puts a bank or a notary back on an older copy of its disk at the end of a run. The node must notice this,
//! stop, and recover from the other nodes. At no later time may more money appear than was issued.

use std::collections::{BTreeMap, BTreeSet};

use finance::IssuedToken;
use flow::FlowId;
use kernel::integrity::{IntegrityOrder, IntegrityReport, PeerProgress};
use kernel::port::Table;
use kernel::rows::{META_LIFE, META_MARK, META_NOTARY_ACCEPTED, meta_key, seq_of, state_ref_of};
use kernel::{Event, FlowFilter, Order, Reply, Start, Token, Wait};
use ledger::{DataMark, StateRef};
use primitives::Decode;

use crate::auditor::{Auditor, has, owners};
use crate::disk::Tables;
use crate::epilogue::EPILOGUE_TOKEN;
use crate::membership::{BANKS, NODES, NOTARY, OTHER_NOTARY, SHORT, is_notary};
use crate::node::Node;
use crate::planned_flow::sweep;
use crate::world::World;

/// Simulated time within which progress marks are exchanged, links connect and answers arrive, in microseconds.
const A_WHILE_US: u64 = 3_000_000;
/// Maximum number of looks at a recovery before it counts as stuck.
const LOOKS_MAX: usize = 2_000;
/// Maximum time for which the only witness of a rollback is down, in microseconds.
const WITNESS_DOWN_US_MAX: u64 = 400_000;
/// Time within which a witness has to connect, in microseconds: a little less than a node waits for all to be heard.
const HEARD_US: u64 = 990_000;
/// The nodes that are rolled back. A notary and a bank that are rolled back together can spend twice before a witness connects,
/// which no protocol prevents. The test with real processes covers that case.
const VICTIMS: [&[usize]; 3] = [&[NOTARY], &[BANKS[0]], &[BANKS[1]]];

/// Returns a node's own measure of its progress, read from a disk.
fn progress(tables: &Tables) -> u64 {
    let accepted = tables.rows(Table::Meta).get(META_NOTARY_ACCEPTED);
    let accepted = accepted.map(|row| seq_of(row).expect("a counter's row"));
    // A notary that has accepted nothing has no counter.
    tables.rows(Table::Ledger).len() as u64 + accepted.unwrap_or(0)
}

/// Returns the last life on a disk, and the number that its data has reached: marks up to there are justified.
fn reached(tables: &Tables) -> (u64, u64) {
    let rows = tables.rows(Table::Meta);
    let lives = rows.keys().filter(|key| key.starts_with(META_LIFE));
    let last = lives.filter_map(|key| seq_of(key)).max();
    (last.unwrap_or(0), progress(tables))
}

impl World {
    /// Copies all disks.
    pub(crate) fn copy_disks(&mut self) {
        let copies = self.nodes.iter().map(|node| node.disk.durable().clone());
        self.epilogue.copies = Some(copies.collect());
    }

    /// Rolls some nodes back to their copies, and checks the consequences.
    pub(crate) fn roll_back(&mut self, tokens: &[IssuedToken]) {
        let Some(copies) = self.epilogue.copies.take() else {
            return;
        };
        self.go_on(A_WHILE_US);
        self.epilogue.begun = true;
        let victims = self.chance.one_of(&VICTIMS);
        let mut older = BTreeSet::new();
        for victim in victims {
            if progress(&copies[*victim]) < progress(self.nodes[*victim].disk.durable()) {
                older.insert(*victim);
            }
            self.nodes[*victim].down_us = 1_000;
            self.crash(*victim);
            self.nodes[*victim].disk.restore(copies[*victim].clone());
        }
        self.tally.rollbacks += older.len() as u64;
        let mut with_old_marks = BTreeSet::new();
        for victim in &older {
            if self.chance.per_mille(500) && self.keep_old_marks(*victim, &copies) {
                with_old_marks.insert(*victim);
            }
        }
        let together = victims.len() > 1;
        self.go_on(if together { A_WHILE_US } else { 1_200 });
        // A node that is rolled back alone pays at once, before any peer has sent it a message.
        let payer = if victims[0] == NOTARY {
            BANKS[0]
        } else {
            victims[0]
        };
        self.pay_everything(payer, tokens);
        if !with_old_marks.is_empty() {
            // A copy goes on once its other witnesses have vouched and the last one has not connected in time.
            self.go_on(HEARD_US);
            if !with_old_marks
                .iter()
                .all(|victim| self.knows_of_copy(*victim))
            {
                self.tally.late_witnesses += 1;
                return;
            }
        }
        self.go_on(A_WHILE_US);
        self.check_money(tokens);
        for victim in victims {
            let Some(report) = self.order(*victim, IntegrityOrder::Show) else {
                return;
            };
            if older.contains(victim) && report.rollback.is_none() {
                let text = format!("{} runs on an older copy and does not know", SHORT[*victim]);
                self.auditor.found(text);
            }
            if report.rollback.is_some() {
                self.recover(*victim);
            }
        }
        self.go_on(A_WHILE_US);
        self.pay_everything(BANKS[0], tokens);
        self.pay_everything(BANKS[1], tokens);
        self.go_on(A_WHILE_US);
        self.check_money(tokens);
        self.check_recovered(victims);
    }

    /// Lets nodes keep the marks of a rolled-back node that they had when the copy was made, except for one witness. That one starts
    /// later than the others, within the time in which all witnesses are heard. Returns false if no node can prove the copy.
    fn keep_old_marks(&mut self, victim: usize, copies: &[Tables]) -> bool {
        let key = meta_key(META_MARK, self.membership.parties[victim].id().as_bytes());
        let others = (0..NODES).filter(|node| *node != victim);
        let reached = reached(&copies[victim]);
        let knowing: Vec<usize> = others
            .clone()
            .filter(|node| {
                let rows = self.nodes[*node].disk.durable().rows(Table::Meta);
                let mark = rows.get(&key).map(|row| DataMark::from_bytes(row));
                let mark = mark.map(|mark| mark.expect("a mark's row"));
                mark.is_some_and(|mark| (mark.ordinal, mark.number) > reached)
            })
            .collect();
        let Some(witness) = (!knowing.is_empty()).then(|| self.chance.one_of(&knowing)) else {
            return false;
        };
        for node in others {
            if node == witness {
                self.nodes[node].down_us = self.chance.between(1_000, WITNESS_DOWN_US_MAX);
                self.crash(node);
            } else if self.chance.per_mille(500) {
                self.nodes[node].down_us = 1_000;
                self.crash(node);
                self.nodes[node]
                    .disk
                    .restore_row(Table::Meta, &key, &copies[node]);
                self.tally.old_marks += 1;
            }
        }
        true
    }

    /// Returns whether a node knows that its data is an older copy.
    fn knows_of_copy(&self, node: usize) -> bool {
        let kernel = self.nodes[node].kernel.as_ref();
        kernel.is_some_and(|kernel| kernel.figures().rolled_back > 0)
    }

    /// Runs the world for some time.
    fn go_on(&mut self, for_us: u64) {
        let until = self.now_us + for_us;
        while let Some(entry) = self.queue.first_entry() {
            if entry.key().0 > until {
                break;
            }
            let ((at_us, _), what) = entry.remove_entry();
            self.now_us = at_us;
            self.happen(what);
        }
        self.now_us = until;
    }

    fn token(&mut self) -> u64 {
        self.epilogue.next += 1;
        EPILOGUE_TOKEN + self.epilogue.next
    }

    /// Sends an order to a node and waits for the answer.
    fn order(&mut self, node: usize, order: IntegrityOrder) -> Option<IntegrityReport> {
        let token = self.token();
        let event = Event::Integrity {
            order,
            token: Token(token),
        };
        self.mail(node, event);
        self.go_on(500_000);
        match self.epilogue.replies.remove(&token) {
            Some(Reply::Integrity(report)) => Some(*report),
            other => {
                let text = format!("{}: {order:?} was answered {other:?}", SHORT[node]);
                self.auditor.found(text);
                None
            }
        }
    }

    /// Starts payments to the other bank of everything that a bank's view shows. Their success is not checked.
    fn pay_everything(&mut self, bank: usize, tokens: &[IssuedToken]) {
        let to = if bank == BANKS[0] { BANKS[1] } else { BANKS[0] };
        for token in 0..tokens.len() {
            let id = tokens[token].id();
            let coins = self.nodes[bank].view.coins();
            let of_token = coins.filter(|(token, ..)| *token == id);
            let quantity: u64 = of_token.map(|(_, _, quantity)| quantity).sum();
            if quantity == 0 || !self.nodes[bank].is_up() {
                continue;
            }
            let plan = sweep(&self.membership, tokens, token, bank, to, quantity);
            let mut flow = [0; 16];
            flow.copy_from_slice(&self.chance.bytes32()[..16]);
            let start = Start {
                flow: FlowId(flow),
                seed: self.chance.bytes32().into(),
                name: plan.name.to_owned(),
                version: None,
                args: plan.args,
                user: "adversary".to_owned(),
                client_id: None,
                wait: Wait::Finalised,
                token: Token(self.token()),
            };
            self.mail(bank, Event::Start(Box::new(start)));
        }
    }

    fn recover(&mut self, node: usize) {
        if self.order(node, IntegrityOrder::Recover).is_none() {
            return;
        }
        for _ in 0..LOOKS_MAX {
            let Some(report) = self.order(node, IntegrityOrder::Show) else {
                return;
            };
            let recovery = report.recovery.as_ref();
            let mut peers = recovery
                .into_iter()
                .flat_map(|recovery| recovery.peers.values());
            if peers.all(|peer| peer.progress == PeerProgress::Done) {
                let finish = IntegrityOrder::Finish {
                    accept_missing: false,
                };
                let ended = self
                    .order(node, finish)
                    .is_some_and(|r| r.rollback.is_none());
                self.auditor
                    .expect(ended, || format!("{} is not let go on", SHORT[node]));
                return self.resume_responders(node);
            }
        }
        let left = self.nodes.iter().map(Node::left);
        let left: Vec<_> = left.collect();
        self.auditor
            .found(format!("{} does not recover: {left:?}", SHORT[node]));
    }

    /// Resumes the flows of the copy that answer peers, as an operator does who compares nothing. What they gave for evidence in the
    /// lost course they must not give again. A client's flow starts over and repeats its work, so operators have to compare those.
    fn resume_responders(&mut self, node: usize) {
        let Some(kernel) = &self.nodes[node].kernel else {
            return;
        };
        let engine = kernel.flows();
        let flows = engine.flow_ids().into_iter();
        let responders: Vec<FlowId> = flows
            .filter(|flow| engine.origin_of(flow).is_some())
            .collect();
        for flow in responders {
            let filter = FlowFilter {
                flow: Some(flow),
                ..FlowFilter::default()
            };
            let event = Event::Order {
                order: Order::Resume,
                filter: Box::new(filter),
                after: None,
                dry_run: false,
                token: Token(self.token()),
            };
            self.mail(node, event);
            self.tally.resumed += 1;
        }
    }

    /// Checks that no ledger has two consumers of a state, and that all vaults together show no more than was issued.
    fn check_money(&mut self, tokens: &[IssuedToken]) {
        let predicted = Auditor::predicted(&self.clients, tokens.len());
        let spent = self.consumed();
        for (token, predicted) in tokens.iter().zip(predicted) {
            let issued: i64 = predicted.iter().sum();
            let id = token.id();
            let mut held = BTreeMap::new();
            for node in &self.nodes {
                let coins = node.view.coins().filter(|(token, ..)| *token == id);
                held.extend(coins.map(|(_, reference, quantity)| (reference, quantity)));
            }
            // A bank on an older copy may show coins that are spent. Coins that another node knows to be spent do not count.
            let shown = held
                .iter()
                .filter(|(reference, _)| !spent.contains(reference));
            let shown: u64 = shown.map(|(_, quantity)| quantity).sum();
            let within = i64::try_from(shown).is_ok_and(|shown| shown <= issued);
            self.auditor.expect(within, || {
                format!("{shown} {} are shown, {issued} were issued", token.currency)
            });
        }
        for (node, name) in SHORT.iter().enumerate().take(NODES) {
            let mut consumers = BTreeSet::new();
            for row in self.nodes[node].disk.durable().rows(Table::Ledger).values() {
                let Ok((_, signed)) = kernel::decode_row(row) else {
                    continue;
                };
                for input in signed.wire().inputs() {
                    let first = consumers.insert(*input);
                    self.auditor
                        .expect(first, || format!("{name} has two consumers of {input}"));
                }
            }
        }
    }

    /// Returns the states that any ledger or notary records as consumed.
    fn consumed(&self) -> BTreeSet<StateRef> {
        let rows = self
            .nodes
            .iter()
            .flat_map(|node| node.disk.durable().rows(Table::Ledger).values());
        let signed = rows.filter_map(|row| kernel::decode_row(row).ok());
        let inputs = signed.flat_map(|(_, signed)| signed.wire().inputs().to_vec());
        let mut consumed: BTreeSet<StateRef> = inputs.collect();
        // An exit concerns its node alone, so no other ledger has it. The notary still refuses the cash.
        for notary in [NOTARY, OTHER_NOTARY] {
            let rows = self.nodes[notary].disk.durable().rows(Table::NotaryStates);
            let states = rows.keys().filter_map(|key| state_ref_of(key));
            consumed.extend(states);
        }
        consumed
    }

    /// Checks that every recovered node has the transactions that concern it in other ledgers, and that the notary knows every
    /// consumption.
    fn check_recovered(&mut self, victims: &[usize]) {
        for (node, name) in SHORT.iter().enumerate().take(NODES) {
            let rows: Vec<Vec<u8>> = {
                let rows = self.nodes[node].disk.durable().rows(Table::Ledger);
                rows.values().cloned().collect()
            };
            for row in rows {
                let Ok((_, signed)) = kernel::decode_row(&row) else {
                    continue;
                };
                let concerned = owners(&self.membership, &self.nodes, &signed);
                // A validating notary cannot tell which node owns a fresh key.
                let victims = victims.iter().filter(|_| !is_notary(node));
                for victim in victims.filter(|victim| concerned.contains(victim)) {
                    let there = has(self.nodes[*victim].disk.durable(), &signed.id());
                    self.auditor.expect(there, || {
                        let victim = SHORT[*victim];
                        format!("{victim} lacks {}, which {name} has", signed.id())
                    });
                }
                if signed.wire().needs_notary() {
                    self.auditor
                        .check_notarised(&self.membership, &self.nodes, &signed);
                }
            }
        }
    }
}
