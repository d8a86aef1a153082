//! A counterparty that stops answering in the middle of its flows: for a while, beyond all deadlines, or until the others have
//! finished without it. It receives everything and sends nothing. It is trusted with separate tokens, whose balances depend on
//! the time of the silence but whose sums do not.

use std::collections::BTreeMap;

use finance::IssuedToken;
use flow::{SessionBody, SessionId, SessionMessage};
use kernel::message::PeerMessage;
use kernel::{Event, Token, Wait};
use ledger::{SignedTransaction, StateRef, TimeWindow, TxId};
use primitives::Decode;

use super::asked::Notarisation;
use crate::Bug;
use crate::auditor::Auditor;
use crate::chance::Chance;
use crate::epilogue::EPILOGUE_TOKEN;
use crate::phases::Phase;
use crate::plan::{Effect, PlannedFlow, sweep};
use crate::town::{BANKS, BEGINNING_MS, EXCHANGE, SHORT};
use crate::world::{What, World};

/// The member that goes silent.
pub(crate) const SILENT: usize = EXCHANGE;
/// Messages that it sends before it goes silent.
const MESSAGES: (u64, u64) = (5, 150);
/// Durations of the silence in microseconds: within a deadline, beyond some deadlines, beyond all.
const LATE_US: [u64; 4] = [2_000_000, 40_000_000, 420_000_000, 1_000_000_000];
/// Time after which the planted bug frees locks, in microseconds.
const EARLY_US: u64 = 50_000;
/// Failures that a silent counterparty may cause: by its silence, or by cash that it had notarised without telling its
/// counterparty.
const CAUSED: [&str; 6] = [
    "flow.counterparty_silent",
    "flow.timed_out",
    "flow.session_ended",
    "notary.conflict",
    "vault.insufficient_funds",
    "vault.selection_timeout",
];

/// The stage of the silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It still sends this many messages.
    Speaks(u64),
    /// It is silent.
    Silent,
    /// It is silent, and the others spend the states that it kept locked.
    Spending,
    /// It sends messages again, for good.
    Over,
}

/// A transaction that a node has signed and sent to the silent member.
#[derive(Clone, Copy, Debug)]
struct Shown {
    id: TxId,
    end_ms: u64,
    session: SessionId,
}

/// The silent member, and the promises that others made to it.
pub(crate) struct Silence {
    stage: Stage,
    /// Duration of the silence. `None` means until the others have finished without it.
    for_us: Option<u64>,
    since_us: u64,
    shown: BTreeMap<(usize, StateRef), Shown>,
}

impl Silence {
    pub(crate) fn new(mut chance: Chance) -> Self {
        let late = chance.per_mille(600).then(|| chance.one_of(&LATE_US));
        Self {
            stage: Stage::Speaks(chance.between(MESSAGES.0, MESSAGES.1)),
            for_us: late,
            since_us: 0,
            shown: BTreeMap::new(),
        }
    }

    fn is_silent(&self) -> bool {
        matches!(self.stage, Stage::Silent | Stage::Spending)
    }

    /// Records a signed transaction that a node sends to the silent member. Forgets it when the silent member ends that session.
    fn watch(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let Ok(PeerMessage::Session { body, .. }) = PeerMessage::from_bytes(bytes) else {
            return;
        };
        let Ok(message) = SessionMessage::from_bytes(&body) else {
            return;
        };
        let payload = match &message.body {
            SessionBody::Data { payload, .. } if to == SILENT => payload,
            SessionBody::End { .. } | SessionBody::Data { last: true, .. } if from == SILENT => {
                return self
                    .shown
                    .retain(|_, shown| shown.session != message.session);
            }
            _ => return,
        };
        let Ok(signed) = SignedTransaction::from_bytes(payload) else {
            return;
        };
        let end = signed.wire().time_window().and_then(TimeWindow::end);
        let (Some(end), false) = (end, signed.signatures().is_empty()) else {
            return;
        };
        let shown = Shown {
            id: signed.id(),
            end_ms: end.as_ms(),
            session: message.session,
        };
        for input in signed.wire().inputs() {
            self.shown.insert((from, *input), shown);
        }
    }
}

impl World {
    /// Returns whether the silence holds a message back. Counts the messages until the silence begins.
    pub(crate) fn is_kept_back(&mut self, from: usize) -> bool {
        let (now_us, works) = (self.now_us, self.phase == Phase::Work);
        let Some(silence) = self.silence.as_mut().filter(|_| works && from == SILENT) else {
            return false;
        };
        if let Stage::Speaks(left) = &mut silence.stage {
            *left = left.saturating_sub(1);
            if *left > 0 || self.calm {
                return false;
            }
            silence.stage = Stage::Silent;
            silence.since_us = now_us;
            let for_us = silence.for_us;
            self.tally.silences += 1;
            self.note(SILENT, format_args!("falls silent for {for_us:?}"));
            if let Some(for_us) = for_us {
                self.at(for_us, What::Speak);
            }
            if self.options.bug == Some(Bug::LocksFreedEarly) {
                self.at(EARLY_US, What::FreeLocks);
            }
        }
        self.silence.as_ref().is_some_and(Silence::is_silent)
    }

    /// Ends the silence for good.
    pub(crate) fn speak(&mut self) {
        if let Some(silence) = &mut self.silence {
            silence.stage = Stage::Over;
            self.note(SILENT, format_args!("speaks again"));
        }
    }

    /// Checks, when a message leaves a node, that no input of a signed transaction is spent by another one before its window has
    /// ended.
    pub(crate) fn watch_promises(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let Some(silence) = &mut self.silence else {
            return;
        };
        silence.watch(from, to, bytes);
        if from == SILENT {
            return;
        }
        let Some(asked) = Notarisation::read(bytes) else {
            return;
        };
        let right_ms = BEGINNING_MS + self.now_us / 1_000;
        for input in &asked.inputs {
            let Some(shown) = silence.shown.get(&(from, *input)) else {
                continue;
            };
            let freed_early = shown.id != asked.id && right_ms < shown.end_ms;
            self.auditor.expect(!freed_early, || {
                let (id, other, short) = (asked.id, shown.id, SHORT[from]);
                format!("{short} spends {input} in {id} while {other} can still be notarised")
            });
        }
    }

    /// Lets the others finish without the silent member: when their flows have ended, they spend everything that it kept locked,
    /// and then it sends messages again. Returns whether the simulation must wait for this.
    pub(crate) fn do_without(&mut self) -> bool {
        let Some(silence) = &self.silence else {
            return false;
        };
        let stage = silence.stage;
        let forever = silence.for_us.is_none() && silence.is_silent();
        if !forever || !self.calm || self.has_unfinished_business() {
            return silence.is_silent();
        }
        if stage == Stage::Spending {
            self.speak();
            return true;
        }
        let tokens: Vec<IssuedToken> = self
            .plan
            .loose
            .iter()
            .map(|(token, _)| token.clone())
            .collect();
        let mut flows = Vec::new();
        for (bank, to) in [(BANKS[0], BANKS[1]), (BANKS[1], BANKS[0])] {
            for token in 0..tokens.len() {
                let id = tokens[token].id();
                let coins = self.nodes[bank].view.coins();
                let held = coins.filter(|(token, ..)| *token == id);
                let quantity: u64 = held.map(|(_, _, quantity)| quantity).sum();
                if quantity > 0 {
                    flows.push(perhaps(sweep(
                        &self.town, &tokens, token, bank, to, quantity,
                    )));
                }
            }
        }
        self.add_clients(flows);
        if let Some(silence) = &mut self.silence {
            silence.stage = Stage::Spending;
        }
        true
    }

    /// Returns whether a flow of an honest node is live or has not ended yet.
    fn has_unfinished_business(&self) -> bool {
        let others = self
            .clients
            .all
            .iter()
            .filter(|client| client.plan.node != SILENT);
        let live = BANKS.iter().any(|bank| {
            let kernel = self.nodes[*bank].kernel.as_ref();
            kernel.is_none_or(|kernel| kernel.figures().flows_live > 0)
        });
        live || others.into_iter().any(|client| client.outcome.is_none())
    }

    /// Applies the planted bug: banks cancel flows with the silent member at once.
    pub(crate) fn free_locks(&mut self) {
        let silent = self.town.ids[SILENT];
        for bank in BANKS {
            let Some(kernel) = &self.nodes[bank].kernel else {
                continue;
            };
            let flows = kernel.flows();
            let with_it = flows.flow_ids().into_iter().filter(|id| {
                let start = flows.status(id).and_then(|status| status.start);
                let origin = start.and_then(|start| start.origin);
                origin.is_some_and(|origin| origin.peer == silent)
            });
            let with_it: Vec<_> = with_it.collect();
            for flow in with_it {
                let token = Token(EPILOGUE_TOKEN);
                self.mail(bank, Event::Cancel { flow, token });
            }
        }
    }

    /// Returns the time at which the planted bug stops a node's clock, in microseconds.
    pub(crate) fn stands_still_at_us(&self, node: usize) -> Option<u64> {
        let planted = self.options.bug == Some(Bug::LocksNeverFreed) && BANKS.contains(&node);
        let silence = self.silence.as_ref().filter(|_| planted)?;
        silence.is_silent().then_some(silence.since_us)
    }
}

/// Marks a flow as one whose end depends on the silence.
pub(crate) fn perhaps(flow: PlannedFlow) -> PlannedFlow {
    PlannedFlow {
        effect: Effect::Perhaps,
        // A silent participant acknowledges no delivery.
        waits: vec![Wait::Finalised, Wait::Delivered],
        ..flow
    }
}

impl Auditor {
    /// Returns whether the silent member may have caused this failure: the flow runs at the silent node, or the code is an
    /// expected one.
    pub(crate) fn is_caused(node: usize, code: &str) -> bool {
        node == SILENT || CAUSED.contains(&code)
    }
}
