//! The kernel itself: its parts, its rounds, and how events become one commit.
//!
//! # Invariants
//! - One round is `handle` any number of times until [`Kernel::is_full`], then `flush` once: one [`Action::Commit`] at most.
//! - Everything that leaves the node (messages, replies) is in the `then` of the round's commit. It leaves after that batch and
//!   all earlier ones are durable. A round that writes nothing acts at once if no commit is in flight.
//! - No signature is checked alone when others wait: checks of a round are one batch.
//! - Work that depends on nothing but its input is done as jobs, in batches ([`crate::jobs`]). No round ends with a job that was
//!   gathered before its flows wrote their journals.
//! - Bulk work (back chains served, back chains verified) takes a bounded part of each round.

mod assemble;
mod closing;
mod common_events;
mod dispatch;
mod gauges;
mod job_batches;
mod opening;
mod router;
mod turns;

use flow::FlowEngine;
use primitives::{Moment, Monotonic};

use crate::back_chains::BackChains;
use crate::clock::ClockWatch;
use crate::command::{Command, FlowsCommand, IntakeCommand, IntegrityCommand, NotaryCommand};
use crate::consents::Consents;
use crate::context::Context;
use crate::event::{Action, Event};
use crate::files::Files;
use crate::flows::Flows;
use crate::folder::FolderRecord;
use crate::intake::contract_checks::ContractChecks;
use crate::intake::items::Intake;
use crate::integrity::Integrity;
use crate::integrity::contradictions::Contradictions;
use crate::jobs::Workers;
use crate::keys::KeyBook;
use crate::ledger_book::Book;
use crate::ledger_view::LedgerView;
use crate::notarisation::requests::Notarisation;
use crate::notes::Notes;
use crate::peers::links::Links;
use crate::port::{Reads, StoreFailure};
use crate::round::{CheckOwner, CheckVerdict, Work};
use crate::schedule::table::Schedule;
use crate::selection::CoinSelection;

/// One node's deciding core. See the crate's page for how it is driven.
pub struct Kernel {
    context: Context,
    folder: FolderRecord,
    keys: KeyBook,
    clock: ClockWatch,
    flows: Flows,
    links: Links,
    intake: Intake,
    back_chains: BackChains,
    book: Book,
    selection: CoinSelection,
    contradictions: Contradictions,
    integrity: Integrity,
    notarisation: Option<Notarisation>,
    schedule: Schedule,
    notes: Notes,
    files: Files,
    consents: Consents,
    contract_checks: ContractChecks,
    workers: Box<dyn Workers>,
}

impl Kernel {
    /// Has the jobs done by these workers. Without this call the kernel does them itself.
    #[must_use]
    pub fn with_workers(mut self, workers: Box<dyn Workers>) -> Self {
        self.workers = workers;
        self
    }

    /// Takes one event. Nothing leaves before [`Kernel::flush`].
    ///
    /// # Errors
    /// The store could not be read: the node has to stop.
    pub fn handle(
        &mut self,
        event: Event,
        now: Moment,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        self.advance(now);
        if event.concerns_flows() {
            self.work_off(reads)?;
        }
        self.dispatch(event, reads)?;
        self.route(reads)?;
        self.proceed(reads)
    }

    /// Returns whether the round has reached [`KernelOptions::round_bytes_max`](crate::KernelOptions::round_bytes_max). Then it should
    /// end before it takes another event.
    pub fn is_full(&self) -> bool {
        self.context.round.bytes() >= self.context.options.round_bytes_max
    }

    /// Ends a round: checks the collected signatures, takes a batch for the notary, and returns the actions.
    ///
    /// # Errors
    /// The store could not be read: the node has to stop.
    pub fn flush(
        &mut self,
        now: Moment,
        reads: &dyn Reads,
        out: &mut Vec<Action>,
    ) -> Result<(), StoreFailure> {
        self.advance(now);
        self.on_time(reads)?;
        self.contradictions
            .fill(&self.book, &mut self.context, reads)?;
        self.take_deferred_messages(reads)?;
        self.context.take_put_off();
        loop {
            self.do_queued_work(reads)?;
            if self.run_jobs(reads)? {
                continue;
            }
            if self.context.signatures.is_due() {
                self.check_signatures(reads)?;
                continue;
            }
            if self.tend_back_chains(reads)? || self.verify_back_chains(reads)? {
                continue;
            }
            self.back_chains
                .serve(&self.book, &mut self.context, reads)?;
            if self.integrity.is_rolled_back()
                && let Some(notarisation) = &mut self.notarisation
                && !notarisation.is_shared()
            {
                notarisation.refuse_undecided(&mut self.context);
            }
            self.route(reads)?;
            if self.is_settled() {
                break;
            }
        }
        let is_rolled_back = self.integrity.is_rolled_back();
        if self.judges_from().is_none()
            && let Some(notarisation) = &mut self.notarisation
            // A shared record is not in this node's data.
            && (!is_rolled_back || notarisation.is_shared())
        {
            notarisation.ask_for_uniqueness(out);
        }
        let put_off = self.context.signatures.next_put_off();
        out.extend(put_off.map(Action::CheckSignatures));
        self.flows.end_of_round(&mut self.context);
        self.do_queued_work(reads)?;
        self.carry(IntegrityCommand::Tend, reads)?;
        self.route(reads)?;
        self.links.end_machines(self.context.now.monotonic);
        self.pump(reads)?;
        self.links.send_answers(&mut self.context);
        self.intake.ask_for_files(&mut self.context);
        // After everything that may end a flow.
        let trusts_wall = self.clock.is_trusted();
        self.flows.tend_history(trusts_wall, &mut self.context);
        self.parts_end_round();
        self.close_round(out);
        Ok(())
    }

    /// Advances the time. The wall clock may have jumped forwards or backwards. Only deadlines on the wall clock follow a jump.
    fn advance(&mut self, now: Moment) {
        let monotonic = self.context.now.monotonic.max(now.monotonic);
        self.context.now = Moment::new(monotonic, now.wall);
        self.flows.advance(self.context.now);
        self.clock.advance(&mut self.context);
        // Before any event of the round: a request that comes with a jump must not be judged by the jumped clock.
        if let Some(notarisation) = &mut self.notarisation {
            notarisation.follow_clock(self.clock.is_trusted(), &mut self.context);
        }
    }

    /// Returns the next time at which [`Event::Tick`] is due, if nothing else happens.
    pub fn next_wakeup(&self) -> Option<Monotonic> {
        let asks = self.judges_from().is_none()
            && self
                .notarisation
                .as_ref()
                .is_some_and(Notarisation::can_ask);
        let at_once = self.has_jobs()
            || self.flows.can_revive(&self.context)
            || self.flows.next_to_wake(&self.context).is_some()
            || asks;
        // Wake-ups that depend on several parts.
        let joint = [
            at_once.then_some(self.context.now.monotonic),
            self.next_scheduled().map(|at| self.context.now.when(at)),
            self.next_meeting(),
            self.judges_from(),
            self.integrity.next_mark(&self.book),
            self.back_chains.next_to_verify(&self.context),
        ];
        let joint = joint.into_iter().flatten();
        joint.chain(self.parts_next_time()).min()
    }

    /// Returns the flow engine, for inspection.
    pub fn flows(&self) -> &FlowEngine {
        self.flows.engine()
    }

    /// Returns the last position of the ledger, durable or not yet.
    pub fn last_seq(&self) -> u64 {
        self.book.last_seq()
    }

    /// Does the queued work until none is left.
    fn do_queued_work(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.pump(reads)?;
        while let Some(work) = self.context.work.pop_front() {
            match work {
                Work::Engine(action) => self.carry(FlowsCommand::Act(action), reads)?,
                Work::Signed(item) => {
                    let command = IntakeCommand::LookForDependencies(item);
                    self.carry(command, reads)?;
                }
                Work::Ready(item) => self.context.jobs.conclude(item),
                Work::Judged(item) => {
                    self.carry(IntakeCommand::Conclude(item), reads)?;
                }
                Work::Loopback(message) => {
                    self.on_peer_message(self.context.my_id, message, reads)?
                }
            }
            self.route(reads)?;
            if self.context.work.is_empty() {
                self.pump(reads)?;
            }
        }
        Ok(())
    }

    /// Handles everything that is due: sleeping flows, selections past their deadline, and requests and deliveries to repeat.
    fn on_time(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.clock.tend(&mut self.context);
        let trusts_wall = self.clock.is_trusted();
        self.flows.wake_sleepers(trusts_wall, &mut self.context);
        self.selection.on_time(&mut self.context);
        if let Some(notarisation) = &mut self.notarisation {
            notarisation.on_time(&mut self.context);
        }
        self.route(reads)?;
        self.run_flows(reads)?;
        self.links.on_time(self.context.now.monotonic);
        self.links.read_back(&self.context, reads)?;
        self.pump(reads)
    }

    /// Carries out the actions of the messaging with peers.
    fn pump(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.links.pump(&self.book, &mut self.context, reads)?;
        self.route(reads)
    }

    /// Checks the signatures that are due in the round as one batch.
    fn check_signatures(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let verdicts = self.context.check_due(&*self.workers);
        self.tell_owners(verdicts, reads)?;
        self.do_queued_work(reads)
    }

    /// Tells the owners of signature checks about their verdicts.
    fn tell_owners(
        &mut self,
        verdicts: Vec<CheckVerdict>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        for CheckVerdict { owner, is_good, .. } in verdicts {
            let command: Command = match owner {
                CheckOwner::Item(item) => IntakeCommand::Checked { item, is_good }.into(),
                CheckOwner::Effect(flow, effect) => FlowsCommand::Checked {
                    flow,
                    effect,
                    is_good,
                }
                .into(),
                CheckOwner::Notary(number) => NotaryCommand::Checked { number, is_good }.into(),
                CheckOwner::Ancestor(number, place) => {
                    self.back_chains.on_checked(number, place, is_good);
                    continue;
                }
                CheckOwner::Nobody => continue,
            };
            self.carry(command, reads)?;
            self.route(reads)?;
        }
        Ok(())
    }

    /// Ends back chains that no item needs, and begins those that waited for a place. Returns whether there is work now.
    fn tend_back_chains(&mut self, reads: &dyn Reads) -> Result<bool, StoreFailure> {
        let intake = &self.intake;
        let sender = |item| intake.sender(item);
        self.back_chains.tend(sender, &mut self.context);
        self.route(reads)?;
        Ok(!self.context.work.is_empty())
    }

    /// Verifies and records parts of fetched back chains. Returns whether there is work now, or has been.
    fn verify_back_chains(&mut self, reads: &dyn Reads) -> Result<bool, StoreFailure> {
        self.back_chains.begin_verifying(&mut self.context, reads)?;
        let mut has_verified = self.context.signatures.is_due();
        loop {
            let ledger = LedgerView {
                book: &self.book,
                contracts: &self.contract_checks,
                contradictions: &self.contradictions,
                reads,
            };
            if !self.back_chains.verify_next(ledger, &mut self.context)? {
                return Ok(has_verified);
            }
            has_verified = true;
            self.route(reads)?;
        }
    }
}
