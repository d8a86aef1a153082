//! The router: carries the commands of parts to the parts that they are for.

use std::sync::Arc;

use ledger::SignedTransaction;

use crate::command::{Command, SelectionCommand};
use crate::event::Action;
use crate::flows::views::FlowViews;
use crate::intake::views::IntakeViews;
use crate::integrity::views::IntegrityViews;
use crate::kernel::Kernel;
use crate::ledger_view::LedgerView;
use crate::notarisation::views::NotaryViews;
use crate::port::{Reads, StoreFailure};

impl Kernel {
    /// Carries the commands that the last call of a part has made, each with the commands that it causes.
    pub(super) fn route(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let below = self.context.commands().begin();
        while let Some(command) = self.context.commands().next(below) {
            self.carry(command, reads)?;
            self.route(reads)?;
        }
        Ok(())
    }

    /// Carries a command to its part.
    pub(super) fn carry(
        &mut self,
        command: impl Into<Command>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let is_older_copy = self.integrity.is_rolled_back();
        let context = &mut self.context;
        match command.into() {
            Command::Record(transaction) => self.record(&transaction, reads)?,
            Command::StopWork { flow } => {
                self.links.forget_requests_of(flow, context.now.monotonic);
                self.intake.stop_work(flow, context);
            }
            Command::ForgetFlow { flow } => {
                context.command(SelectionCommand::Release { flow });
                self.route(reads)?;
                self.flows.end_waits(flow);
                self.files.flow_ended(flow, &mut self.context);
                self.context.command(Command::StopWork { flow });
            }
            Command::BackChains(command) => {
                let book = &self.book;
                self.back_chains.on_command(command, book, context, reads)?;
            }
            Command::Clock(command) => self.clock.on_command(command, context.now),
            Command::Consents(command) => {
                let keys = &self.keys;
                self.consents.on_command(command, keys, context, reads)?;
            }
            Command::Contradictions(command) => self.contradictions.on_command(command, context),
            Command::Files(command) => self.files.on_command(command, context, reads)?,
            Command::Flows(command) => {
                let views = FlowViews {
                    book: &self.book,
                    selection: &self.selection,
                    deliveries: self.links.unanswered(),
                    trusts_wall: self.clock.is_trusted(),
                    older_copy: self.integrity.older_copy(),
                    reads,
                };
                self.flows.on_command(command, views, context)?;
            }
            Command::Integrity(command) => {
                let views = IntegrityViews {
                    book: &self.book,
                    contradictions: &self.contradictions,
                    keys: &self.keys,
                    links: &self.links,
                    notarisation: self.notarisation.as_ref(),
                    reads,
                };
                self.integrity.on_command(command, views, context)?;
            }
            Command::Intake(command) => {
                let ledger = LedgerView {
                    book: &self.book,
                    contracts: &self.contract_checks,
                    contradictions: &self.contradictions,
                    reads,
                };
                let views = IntakeViews {
                    ledger,
                    chains: &self.back_chains,
                    files: &self.files,
                    keys: &self.keys,
                    flows: &self.flows,
                    is_older_copy,
                };
                self.intake.on_command(command, views, context)?;
            }
            Command::Keys(command) => self.keys.on_command(command, context, reads)?,
            Command::Notary(command) => {
                let views = NotaryViews {
                    intake: &self.intake,
                    keys: &self.keys,
                    is_older_copy,
                    reads,
                };
                if let Some(notarisation) = &mut self.notarisation {
                    notarisation.on_command(command, views, context)?;
                }
            }
            Command::Peers(command) => self.links.on_command(command, context),
            Command::Schedule(command) => self.schedule.on_command(command, context),
            Command::Selection(command) => self.selection.on_command(command, context),
        }
        Ok(())
    }

    /// Records a verified transaction in all parts, and wakes everything that waits for it. Does nothing if it is in the ledger
    /// already.
    fn record(
        &mut self,
        transaction: &Arc<SignedTransaction>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let id = transaction.id();
        if self.book.contains(&id, reads)? {
            return Ok(());
        }
        let (wire, context) = (transaction.wire(), &mut self.context);
        self.files.recorded(transaction, context, reads)?;
        let seq = self.book.record(Arc::clone(transaction), context);
        self.integrity.recorded(transaction, context);
        self.contradictions.recorded(wire.inputs(), seq, context);
        self.selection.recorded(seq, wire.inputs(), context);
        let facts = self.contract_checks.take_facts(transaction, context);
        let changes = self.keys.recorded(seq, wire, facts, context, reads)?;
        self.schedule
            .recorded(wire, &changes, &self.book, context, reads)?;
        self.route(reads)?;
        let context = &mut self.context;
        if !changes.is_empty() {
            context.round.changes.extend(changes.iter().cloned());
            let at = context.now.wall;
            context.act(Action::View {
                seq,
                id,
                at,
                changes,
            });
        }
        self.flows.transaction_recorded(transaction, context);
        self.back_chains.recorded(&id);
        self.intake.recorded(&id, context);
        Ok(())
    }
}
