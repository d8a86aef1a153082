//! The context of a round: all that a part needs apart from its own state and the store.
//!
//! A part gets the context with each event. It reads the time, the node's identity and options there, writes its rows into the
//! batch of the round, and adds its actions to the output. It never reaches another part through the context.

use std::collections::VecDeque;

use ledger::PartyId;
use primitives::{Encode, Moment};

use crate::command::Command;
use crate::event::{Action, Priority, Reply, Token};
use crate::figures::Figures;
use crate::identity::Identity;
use crate::message::PeerMessage;
use crate::options::KernelOptions;
use crate::peers::complaints::Complaints;
use crate::room::Room;
use crate::round::{Commits, Round, Work};
use crate::writes::{RowsOf, Writer};

/// The shared state of a round. It belongs to no part, and every part may use it.
pub(crate) struct Context {
    /// The time of the present event.
    pub(crate) now: Moment,
    pub(crate) options: KernelOptions,
    pub(crate) identity: Identity,
    pub(crate) my_id: PartyId,
    pub(crate) room: Room,
    pub(crate) round: Round,
    pub(crate) commits: Commits,
    /// Work for the router, carried out within the round in this order.
    pub(crate) work: VecDeque<Work>,
    pub(crate) figures: Figures,
    /// Commands to other parts, made since the router carried the last ones.
    commands: Vec<Command>,
    complaints: Complaints,
}

impl Context {
    /// Creates the context of a node's first round.
    pub(crate) fn new(options: KernelOptions, identity: Identity, now: Moment) -> Self {
        Self {
            now,
            my_id: identity.me.id(),
            room: Room::of(identity.network.parameters()),
            round: Round::default(),
            commits: Commits::default(),
            work: VecDeque::new(),
            figures: Figures::default(),
            commands: Vec::new(),
            complaints: Complaints::default(),
            options,
            identity,
        }
    }

    /// Returns the handle through which a type writes its rows into the batch of the round.
    pub(crate) fn rows<W: Writer>(&mut self) -> RowsOf<'_, W> {
        self.round.batch.of::<W>()
    }

    /// Adds an action. It leaves the node after the round's commit is durable.
    pub(crate) fn act(&mut self, action: Action) {
        self.round.then.push(action);
    }

    /// Adds a command to another part. The router carries it directly after the present call.
    pub(crate) fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Returns the commands that were not carried yet, in order.
    pub(crate) fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// Returns whether commands wait for the router.
    pub(crate) fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Sends a message after the round's commit is durable. A message to this node itself is handled within the round.
    pub(crate) fn send(&mut self, peer: PartyId, priority: Priority, message: PeerMessage) {
        if peer == self.my_id {
            self.work.push_back(Work::Loopback(message));
            return;
        }
        let bytes = message.to_bytes();
        self.act(Action::Send {
            peer,
            priority,
            bytes,
        });
    }

    /// Answers a request.
    pub(crate) fn reply(&mut self, token: Token, reply: Reply) {
        self.act(Action::Reply { token, reply });
    }

    /// Logs a line that an operator should read.
    pub(crate) fn warn(&mut self, code: &'static str, message: String) {
        self.act(Action::Log {
            warning: true,
            code,
            message,
        });
    }

    /// Logs a line that an operator may want to read.
    pub(crate) fn inform(&mut self, code: &'static str, message: String) {
        self.act(Action::Log {
            warning: false,
            code,
            message,
        });
    }

    /// Returns the number of suppressed lines if a line about a peer may be logged now, within the peer's rate limit.
    pub(crate) fn may_complain(&mut self, peer: PartyId) -> Option<u64> {
        self.complaints.may_tell(peer, self.now.monotonic)
    }

    /// Logs a line about a peer, within the peer's rate limit. Text from the peer is escaped.
    pub(crate) fn complain(&mut self, code: &'static str, peer: PartyId, text: &str) {
        if let Some(silent) = self.may_complain(peer) {
            let more = match silent {
                0 => String::new(),
                n => format!(" (and {n} lines before it that were not written)"),
            };
            self.warn(code, format!("peer {peer}: {}{more}", text.escape_debug()));
        }
    }

    /// Returns the number of the commit that makes the records of this round durable.
    pub(crate) fn shown_by(&self) -> u64 {
        if self.round.batch.is_empty() {
            self.commits.handed()
        } else {
            self.commits.next()
        }
    }
}
