//! Performs the actions of the test network's kernels, and simulates crashes after a commit.

use std::sync::Arc;

use kernel::{Action, Event, Found, LookUp};
use notary::UniquenessOutcome;
use primitives::SignatureChecker;
use vault::{CoinRow, RefillRequest, ViewChange};

use super::{TestNode, Testnet, contracts, key};

/// The progress of a crashing node's last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// The batch is lost.
    Lost,
    /// The batch is durable, and no action that waited for it is performed.
    Durable,
    /// The batch is durable, and all actions that waited for it are performed.
    Performed,
}

/// A crash.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// The node that crashes.
    pub node: usize,
    /// The number of the commit, counted since the test network was built, at which it crashes.
    pub at: u64,
    /// The progress of that commit.
    pub last: Last,
}

/// A report that a scheduled flow was started or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The node.
    pub node: usize,
    /// The state.
    pub state: ledger::StateRef,
    /// The reason of a refusal.
    pub refused: Option<String>,
}

impl TestNode {
    /// Feeds the vault view.
    pub(super) fn show(&mut self, seq: u64, changes: Vec<ViewChange>) {
        self.view_seq = seq;
        for change in changes {
            match change {
                ViewChange::Produced(produced) => {
                    self.view
                        .insert(produced.state.reference, Arc::unwrap_or_clone(produced));
                }
                ViewChange::Consumed(consumed) => {
                    self.view.remove(&consumed.reference);
                    self.gone.insert(consumed.reference);
                }
            }
        }
    }
}

impl Testnet {
    /// Rebuilds the view from the ledger, including changes that the last run did not report to the view.
    pub(super) fn rebuild_view(&mut self, node: usize) {
        let contracts = contracts();
        let mine = key(node).public().clone();
        let one = &mut self.nodes[node];
        one.view.clear();
        for (seq, transaction) in one.disk.ledger() {
            let is_ours = |key: &primitives::PublicKey| {
                *key == mine || kernel::is_own_key(key, &one.disk).expect("the disk reads")
            };
            let facts = contracts.facts(transaction.wire().outputs());
            let changes = vault::changes(seq, transaction.wire(), &is_ours, facts);
            one.show(seq, changes);
        }
        let quarantined = kernel::quarantined_states(&one.disk, usize::MAX);
        one.quarantined = quarantined.expect("the disk reads").into_iter().collect();
    }

    pub(super) fn perform(&mut self, node: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Commit {
                    number,
                    batch,
                    then,
                } => {
                    let at = self.nodes[node].commits + 1;
                    self.nodes[node].commits = at;
                    let mut crashes = self.crashes.iter();
                    let crash = crashes.position(|crash| crash.node == node && crash.at == at);
                    let last = crash.map(|index| self.crashes.remove(index).last);
                    if last != Some(Last::Lost) {
                        self.nodes[node].disk.write(batch);
                    }
                    if matches!(last, None | Some(Last::Performed)) {
                        self.perform(node, then);
                    }
                    if last.is_some() {
                        self.down(node);
                        return;
                    }
                    match &mut self.late_commits {
                        Some((late, numbers)) if *late == node => numbers.push(number),
                        _ => self.tell(node, Event::Committed { number }),
                    }
                }
                Action::Send { peer, bytes, .. } => {
                    let most = self.network.parameters().max_message_bytes;
                    assert!(bytes.len() as u64 <= most, "a message that can't travel");
                    let from = self.nodes[node].id;
                    let to = self.nodes.iter().position(|other| other.id == peer);
                    let to = to.expect("a known peer");
                    if self.nodes[to].kernel.is_some() {
                        self.tell(to, Event::Message { peer: from, bytes });
                    } else {
                        self.hear(node, to, &bytes);
                    }
                }
                Action::Reply { token, reply } => {
                    let before = self.replies.insert(token.0, reply);
                    assert!(before.is_none(), "two replies to {token:?}");
                    if let Some((node, flow, args)) = self.follow_ups.remove(&token.0) {
                        self.late_commits = Some((node, Vec::new()));
                        self.start(node, flow, &args, None);
                        self.settle();
                        let (_, late) = self.late_commits.take().expect("kept until now");
                        // The last of them tells of the commit behind the reply as well.
                        self.mail.extend(
                            late.into_iter()
                                .map(|number| (node, Event::Committed { number })),
                        );
                    }
                }
                Action::View { seq, changes, .. } => self.nodes[node].show(seq, changes),
                Action::Quarantined(state) => {
                    self.nodes[node].quarantined.insert(state);
                }
                Action::Refill(request) => {
                    let event = self.refill(node, request);
                    self.tell(node, event);
                }
                Action::LookUp { flow, effect, what } => {
                    let found = self.look_up(node, what);
                    self.tell(
                        node,
                        Event::LookedUp {
                            flow,
                            effect,
                            found,
                        },
                    );
                }
                Action::LookUpHistory(look_up) => {
                    let found = kernel::look_up_history(&look_up, &self.nodes[node].disk);
                    self.tell(node, Event::HistoryLookedUp { found });
                }
                Action::CheckUniqueness(check) => {
                    let (number, disk) = (check.number, &self.nodes[node].disk);
                    let answer = kernel::check_uniqueness(&check, disk);
                    let outcome = answer.map(UniquenessOutcome::Found);
                    let event = Event::UniquenessChecked { number, outcome };
                    match &mut self.delayed_answers {
                        Some(delayed) => delayed.push((node, event)),
                        None => self.tell(node, event),
                    }
                }
                Action::CheckSignatures(batch) => {
                    let good = SignatureChecker::new().check_batch(&batch.messages);
                    let event = Event::SignaturesChecked { batch, good };
                    match &mut self.delayed_answers {
                        Some(delayed) => delayed.push((node, event)),
                        None => self.tell(node, event),
                    }
                }
                Action::Scheduled { state, refusal, .. } => self.scheduled.push(Scheduled {
                    node,
                    state,
                    refused: refusal.map(|refusal| refusal.code),
                }),
                Action::FetchFile { .. }
                | Action::AbandonFile { .. }
                | Action::PermitFile { .. }
                | Action::DropFile { .. } => self.on_file_action(node, action),
                Action::Drained => self.drained.push(node),
                Action::CutOff { peer, ms } => self.cut_off.push((node, peer, ms)),
                Action::Log { code, message, .. } => {
                    self.logs.push(format!("{node}: {code}: {message}"));
                }
            }
        }
    }

    fn look_up(&self, node: usize, what: LookUp) -> Found {
        let one = &self.nodes[node];
        match what {
            LookUp::Linear { contract, id } => {
                let mut found: Vec<_> = one
                    .view
                    .values()
                    .filter(|produced| produced.facts.linear_id == Some(id))
                    .filter(|produced| produced.state.state.contract == contract)
                    .collect();
                found.sort_by_key(|produced| std::cmp::Reverse(produced.seq));
                Found::States(found.into_iter().map(|found| found.state.clone()).collect())
            }
            LookUp::Consumed(refs) => {
                let mut refs = refs.into_iter();
                Found::Consumed(refs.find(|reference| one.gone.contains(reference)))
            }
        }
    }

    fn refill(&self, node: usize, request: RefillRequest) -> Event {
        let one = &self.nodes[node];
        let mut rows: Vec<CoinRow> = Vec::new();
        let mut total = 0;
        for produced in one.view.values() {
            if let Some(fungible) = &produced.facts.fungible
                && fungible.token == request.token
                && !one.quarantined.contains(&produced.state.reference)
            {
                total += u128::from(fungible.quantity);
                let coin = produced.state.clone();
                rows.push(CoinRow {
                    coin,
                    quantity: fungible.quantity,
                    seq: produced.seq,
                });
            }
        }
        rows.retain(|row| request.from.is_none_or(|from| row.position() <= from));
        rows.sort_by_key(|row| std::cmp::Reverse(row.position()));
        let more = rows.len() > request.limit;
        rows.truncate(request.limit);
        Event::Refilled {
            token: request.token,
            rows,
            view_seq: one.view_seq,
            total,
            more,
        }
    }
}
