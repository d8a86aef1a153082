//! A round: its output, its one commit, and the actions that a durable commit releases.

use std::collections::VecDeque;

use flow::{EngineAction, FlowId};
use ledger::{PartyId, TxId};
use primitives::{Encode, SignedMessage};
use vault::ViewChange;

use crate::event::{Action, Priority, Reply, Token};
use crate::intake::items::ItemId;
use crate::kernel::Kernel;
use crate::message::PeerMessage;
use crate::writes::Batch;

/// Something to be done within the round.
pub(crate) enum Work {
    /// Actions of the flow engine.
    Engine(EngineAction),
    /// An item's signatures are good: look for its dependencies.
    Signed(ItemId),
    /// An item's dependencies are all recorded.
    Ready(ItemId),
    /// A message of this node to itself.
    Loopback(PeerMessage),
}

/// Who asked for a signature check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CheckOwner {
    /// A transaction on its way.
    Item(ItemId),
    /// A flow's effect.
    Effect(FlowId, u32),
    /// A request to this notary, by its number there.
    Notary(u64),
    /// No transaction waits for it yet. Valid ones are remembered.
    Nobody,
}

/// The output of a round so far.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) batch: Batch,
    pub(crate) then: Vec<Action>,
    pub(crate) checks: Vec<(CheckOwner, SignedMessage)>,
    pub(crate) recorded: Vec<TxId>,
    pub(crate) changes: Vec<ViewChange>,
    /// Parts of back chains were verified in this round.
    pub(crate) chains_verified: bool,
    /// Back chains were served in this round.
    pub(crate) chains_served: bool,
    /// The notary has decided a batch in this round.
    pub(crate) notary_decided: bool,
}

/// The effects of a durable commit.
struct Submitted {
    number: u64,
    recorded: Vec<TxId>,
    changes: Vec<ViewChange>,
}

/// The commits handed out and not reported durable, in order. How many there are is the shell's bound: it submits no
/// further round while its queue is full.
#[derive(Default)]
pub(crate) struct Commits {
    handed: u64,
    durable: u64,
    waiting: VecDeque<Submitted>,
}

impl Commits {
    /// The number that this round's commit will have, if there is one.
    pub(crate) fn next(&self) -> u64 {
        self.handed + 1
    }

    /// The last one handed out.
    pub(crate) fn handed(&self) -> u64 {
        self.handed
    }

    /// Every commit up to this one is durable.
    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    fn submit(&mut self, recorded: Vec<TxId>, changes: Vec<ViewChange>) -> u64 {
        self.handed += 1;
        let number = self.handed;
        self.waiting.push_back(Submitted {
            number,
            recorded,
            changes,
        });
        number
    }

    fn pop(&mut self, upto: u64) -> Option<Submitted> {
        let front = self.waiting.front()?;
        if front.number <= upto {
            self.waiting.pop_front()
        } else {
            None
        }
    }
}

impl Kernel {
    /// Sends a message once the round is durable; to itself within the round.
    pub(crate) fn send(&mut self, peer: PartyId, priority: Priority, message: PeerMessage) {
        if peer == self.my_id {
            self.work.push_back(Work::Loopback(message));
            return;
        }
        let bytes = message.to_bytes();
        self.round.then.push(Action::Send {
            peer,
            priority,
            bytes,
        });
    }

    pub(crate) fn reply(&mut self, token: Token, reply: Reply) {
        self.round.then.push(Action::Reply { token, reply });
    }

    /// Something that an operator should read.
    pub(crate) fn warn(&mut self, code: &'static str, message: String) {
        self.round.then.push(Action::Log {
            warning: true,
            code,
            message,
        });
    }

    /// Something that an operator may want to read.
    pub(crate) fn inform(&mut self, code: &'static str, message: String) {
        self.round.then.push(Action::Log {
            warning: false,
            code,
            message,
        });
    }

    /// Logs a line about a peer, within the peer's limit of lines. Text from the peer is escaped.
    pub(crate) fn complain(&mut self, code: &'static str, peer: PartyId, what: &str) {
        if let Some(silent) = self.complaints.may_tell(peer, self.now.monotonic) {
            let more = match silent {
                0 => String::new(),
                n => format!(" (and {n} lines before it that were not written)"),
            };
            self.warn(code, format!("peer {peer}: {}{more}", what.escape_debug()));
        }
    }

    /// The number of the commit that makes the records of this round durable.
    pub(crate) fn shown_by(&self) -> u64 {
        if self.round.batch.is_empty() {
            self.commits.handed()
        } else {
            self.commits.next()
        }
    }

    /// Makes the round's one commit of it, or acts at once where nothing is written and nothing waited for.
    pub(crate) fn close_round(&mut self, out: &mut Vec<Action>) {
        // Those that an operator has just wanted back are about to run.
        let still = self.clients.parked();
        let live = self.engine.live().saturating_sub(still) + self.hospital.wanted();
        if self.starts.is_drained(live) {
            self.starts.drain_reported();
            self.round.then.push(Action::Drained);
        }
        let round = std::mem::take(&mut self.round);
        let all_durable = self.commits.waiting.is_empty();
        if round.batch.is_empty() && (all_durable || round.then.is_empty()) {
            self.round_without_commit();
            out.extend(round.then);
            return;
        }
        let number = self.commits.submit(round.recorded, round.changes);
        self.figures.commits += 1;
        self.figures.commit_rows += round.batch.writes.len() as u64;
        let (batch, then) = (round.batch.finish(), round.then);
        out.push(Action::Commit {
            number,
            batch,
            then,
        });
    }

    /// Every commit up to this one is durable.
    pub(crate) fn on_committed(&mut self, number: u64) {
        let number = number.min(self.commits.handed());
        self.commits.durable = self.commits.durable.max(number);
        while let Some(done) = self.commits.pop(number) {
            for id in &done.recorded {
                self.book.durable(id);
            }
            if !done.changes.is_empty() {
                let out = self.selection.apply(done.changes, self.now.monotonic);
                self.on_selection(out);
            }
        }
        self.parts_committed(number);
        self.release_selects(number);
    }
}
