//! The context of a round: all that a part needs apart from its own state and the store.
//!
//! A part gets the context with each event. It reads the time, the node's identity and options there, writes its rows into the
//! batch of the round, and adds its actions to the output. It never reaches another part through the context.
//!
//! Every part has signatures checked and does work for peers. So the checks that the round gathers are here, with the accounts that
//! this work is charged to.

use std::collections::VecDeque;

use flow::EffectResult;
use ledger::PartyId;
use primitives::{Encode, Moment, Monotonic, SignedMessage};

use crate::command::{Command, Commands, FlowsCommand};
use crate::errors;
use crate::event::{Action, Priority, Reply, SignatureBatch, Token};
use crate::figures::Figures;
use crate::flows::waits::EffectId;
use crate::identity::Identity;
use crate::intake::signatures::Signatures;
use crate::jobs::{CheckJobs, Gathered, Workers};
use crate::message::PeerMessage;
use crate::message_limits::MessageLimits;
use crate::options::KernelOptions;
use crate::part::Part;
use crate::peers::budget::{Door, GARBAGE_MESSAGE, PeerBudgets, PeerWork, failed_check_points};
use crate::peers::complaints::Complaints;
use crate::round::{CheckOwner, CheckVerdict, Commits, Round, Work};
use crate::writes::{Batch, RowsOf, Writer};

/// The shared state of a round. It belongs to no part, and every part may use it.
pub(crate) struct Context {
    /// The time of the present event.
    pub(crate) now: Moment,
    pub(crate) options: KernelOptions,
    pub(crate) identity: Identity,
    pub(crate) my_id: PartyId,
    pub(crate) message_limits: MessageLimits,
    pub(crate) round: Round,
    pub(crate) commits: Commits,
    /// Work that is due within the round, in this order. [`Kernel`](crate::Kernel) does it in `do_queued_work`.
    pub(crate) work: VecDeque<Work>,
    /// Jobs that are due within the round.
    pub(crate) jobs: Gathered,
    pub(crate) figures: Figures,
    /// The signatures that the round checks as one batch, and those known to be good.
    pub(crate) signatures: Signatures,
    /// Commands to other parts that the router has not carried yet.
    commands: Commands,
    complaints: Complaints,
    /// The work that peers cause.
    budgets: PeerBudgets,
}

impl Part for Context {
    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        let portions = self.signatures.next_portions(&self.budgets);
        let times = [self.budgets.next_time(now), portions];
        times.into_iter().flatten().min()
    }

    fn end_round(&mut self, batch: &mut Batch) {
        self.budgets.end_round(batch);
        self.signatures.end_round(batch);
    }
}

impl Context {
    /// Creates the context of a node's first round.
    pub(crate) fn new(options: KernelOptions, identity: Identity, now: Moment) -> Self {
        assert!(
            options.gathered_jobs_max > 0,
            "a batch of jobs has at least one"
        );
        Self {
            now,
            my_id: identity.me.id(),
            message_limits: MessageLimits::of(identity.network.parameters()),
            round: Round::default(),
            commits: Commits::default(),
            work: VecDeque::new(),
            jobs: Gathered::default(),
            figures: Figures::default(),
            signatures: Signatures::new(&options),
            commands: Commands::default(),
            complaints: Complaints::default(),
            budgets: PeerBudgets::default(),
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
    pub(crate) fn command(&mut self, command: impl Into<Command>) {
        self.commands.push(command.into());
    }

    /// Gives an effect of a flow its result. The flow continues within this round.
    pub(crate) fn complete(&mut self, effect: EffectId, result: EffectResult) {
        let (flow, effect) = effect;
        self.command(FlowsCommand::Complete {
            flow,
            effect,
            result,
        });
    }

    /// Returns the commands that wait for the router.
    pub(crate) fn commands(&mut self) -> &mut Commands {
        &mut self.commands
    }

    /// Returns whether commands wait for the router.
    pub(crate) fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Returns the legal name of a party of the network, or else its id.
    pub(crate) fn name_of(&self, id: &PartyId) -> String {
        self.identity.network.name_of(id)
    }

    /// Sends a message after the round's commit is durable. A message to this node itself is handled within the round.
    pub(crate) fn send(&mut self, peer: PartyId, priority: Priority, message: PeerMessage) {
        if peer == self.my_id {
            self.work.push_back(Work::Loopback(message));
            return;
        }
        let bytes = message.to_bytes();
        self.round.sent_bytes += bytes.len();
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
            let name = self.name_of(&peer);
            self.warn(code, format!("{name}: {}{more}", text.escape_debug()));
        }
    }

    /// Adds checks to the round and charges them to a peer, if there is one. Returns whether there was a check to add.
    pub(crate) fn gather(
        &mut self,
        owner: CheckOwner,
        messages: &[SignedMessage],
        payer: Option<PartyId>,
    ) -> bool {
        // A check of a message to itself is the node's own.
        let payer = payer.filter(|peer| *peer != self.my_id);
        let work = self.signatures.gather(owner, messages, payer);
        self.charge(payer, work);
        work > 0
    }

    /// Adds one check to the round and charges it to a peer, even if the result is known.
    pub(crate) fn check_for(&mut self, peer: PartyId, owner: CheckOwner, message: SignedMessage) {
        let payer = Some(peer).filter(|peer| *peer != self.my_id);
        let work = self.signatures.add(owner, message, payer);
        self.charge(payer, work);
    }

    /// Makes the checks that are due, as one batch. A peer is charged for those that fail. Returns the verdicts that are complete.
    pub(crate) fn check_due(&mut self, workers: &dyn Workers) -> Vec<CheckVerdict> {
        let now = self.now.monotonic;
        let (budgets, figures) = (&mut self.budgets, &mut self.figures);
        let verdicts = self
            .signatures
            .check_due(budgets, now, &CheckJobs(workers), figures);
        self.note_failed_checks(&verdicts);
        verdicts
    }

    /// Adds checks that were put off to the round, as many as the rates of their peers allow.
    pub(crate) fn take_put_off(&mut self) {
        self.signatures
            .take_portions(&mut self.budgets, self.now.monotonic);
    }

    /// Takes the results of checks that were put off. A peer is charged for those that failed. Returns the verdicts that are complete.
    pub(crate) fn put_off_checked(
        &mut self,
        batch: &SignatureBatch,
        good: &[bool],
    ) -> Vec<CheckVerdict> {
        let verdicts =
            self.signatures
                .put_off_checked(batch, good, &mut self.budgets, &mut self.figures);
        self.note_failed_checks(&verdicts);
        verdicts
    }

    fn note_failed_checks(&mut self, verdicts: &[CheckVerdict]) {
        for verdict in verdicts.iter().filter(|verdict| !verdict.is_good) {
            if let Some(peer) = verdict.payer {
                self.note_garbage(peer, failed_check_points(verdict.work));
            }
        }
    }

    /// Charges work to a peer, if it is done for one.
    pub(crate) fn charge(&mut self, payer: Option<PartyId>, work: u64) {
        if let Some(peer) = payer.filter(|peer| work > 0 && *peer != self.my_id) {
            self.budgets.charge(peer, work);
        }
    }

    /// Returns whether a peer may cause more work in this round.
    pub(crate) fn may_work(&self, peer: &PartyId) -> bool {
        self.budgets.may_work(peer, self.now.monotonic)
    }

    /// Returns the time from which rounds may do work for a peer, or `None` while checks for it were put off.
    pub(crate) fn works_from(&self, peer: &PartyId) -> Option<Monotonic> {
        self.budgets.works_from(peer, self.now.monotonic)
    }

    /// Decides whether a message that has arrived is handled now.
    pub(crate) fn arrived(&mut self, peer: PartyId, bytes: Vec<u8>) -> Door {
        self.figures.messages_in += 1;
        self.budgets.arrived(peer, bytes, self.now.monotonic)
    }

    /// Returns the next message of an earlier round that may be handled in this one.
    pub(crate) fn next_deferred(&mut self) -> Option<(PartyId, Vec<u8>)> {
        self.budgets.next(self.now.monotonic)
    }

    /// Drops the messages of a peer that wait for a later round, because its connection has begun or ended.
    pub(crate) fn forget_backlog(&mut self, peer: &PartyId) {
        self.budgets.forget_backlog(peer);
    }

    /// Counts an invalid message of a peer, and logs it within the rate limit.
    pub(crate) fn bad_message(&mut self, peer: PartyId, what: &str) {
        self.figures.messages_bad += 1;
        self.complain(errors::BAD_MESSAGE.code, peer, what);
        self.note_garbage(peer, GARBAGE_MESSAGE);
    }

    /// Charges a peer with points for invalid input. With too many points the peer is disconnected for a while.
    pub(crate) fn note_garbage(&mut self, peer: PartyId, points: u64) {
        if peer == self.my_id {
            return;
        }
        if let Some(ms) = self.budgets.garbage(peer, points, self.now.monotonic) {
            self.act(Action::CutOff { peer, ms });
            let name = self.name_of(&peer);
            let text = format!("{name} sent too many invalid messages: it is cut off for {ms} ms");
            self.warn(errors::PEER_CUT_OFF.code, text);
        }
    }

    /// Charges a peer for a session beyond its share.
    pub(crate) fn note_excess(&mut self, peer: PartyId) {
        self.budgets.excess(peer, self.now.monotonic);
    }

    /// Returns the work that each peer has caused.
    pub(crate) fn peer_work(&self) -> impl Iterator<Item = (PartyId, PeerWork)> + '_ {
        self.budgets.figures(self.now.monotonic)
    }
}
