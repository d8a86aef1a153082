//! Actions of nodes: gossip, requests and their answers, penalties and broken connections.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use chain::core::{Action, Event, Notice, RequestFailure, Ticket, Verdict};
use primitives::whole_ms;

use super::{Asked, Coming, World};
use crate::chain::network::{number, peer};

/// Penalty points at which the transport bans a peer.
const BAN_POINTS: u32 = 100;

/// Time after which a dismissed peer is connected again, in milliseconds.
const REDIAL_MS: u64 = 10_000;

impl World {
    pub(super) fn perform(&mut self, n: usize, action: Action) {
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
                patience,
            } => self.ask(n, number(peer), ticket, bytes, whole_ms(patience)),
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

    fn notice(&mut self, n: usize, notice: Notice) {
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
                self.note(n, || format!("block {} rolled back", header.height));
            }
            Notice::Forked { depth, .. } => {
                self.note(n, || format!("another branch, {depth} deep"))
            }
            Notice::Removed { id, reason } => {
                self.note(n, || format!("{} left: {reason}", id.short()))
            }
            Notice::TooDeep { peer, common, .. } => {
                self.note(n, || format!("{peer} claims a branch from {common} on"));
            }
            Notice::Equivocated(found) => {
                self.note(n, || {
                    format!("two blocks of one forger at {}", found.first.height)
                });
            }
            Notice::DeepFork { common, .. } => {
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
    pub(in crate::chain) fn gossip_to(&mut self, from: usize, to: usize, bytes: Arc<Vec<u8>>) {
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

    pub(in crate::chain) fn ask(
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

    pub(in crate::chain) fn answer(&mut self, n: usize, ticket: Ticket, bytes: Vec<u8>) {
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

    pub(super) fn redial(&mut self, a: usize, b: usize) {
        self.network.redial(a, b);
        let runs = |n: usize| self.nodes.get(n).is_none_or(|node| node.core.is_some());
        if runs(a) && runs(b) {
            self.connect(a, b);
        }
    }
}

/// Returns the id by which the transport recognises a message.
fn name(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
