//! The router: carries the commands of parts to the parts that they are for.

use std::sync::Arc;

use flow::FlowId;
use ledger::SignedTransaction;

use crate::command::{Command, FilesCommand, FlowsCommand, IntegrityCommand, PeersCommand};
use crate::event::Action;
use crate::intake::views::IntakeViews;
use crate::integrity::quarantine::Quarantine;
use crate::kernel::Kernel;
use crate::ledger_view::LedgerView;
use crate::notarisation::views::NotaryViews;
use crate::port::{Reads, StoreFailure};

impl Kernel {
    /// Carries the commands that the last call of a part has made, each with the commands that it causes.
    pub(crate) fn route(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let below = self.context.commands().begin();
        while let Some(command) = self.context.commands().next(below) {
            self.carry(command, reads)?;
            self.route(reads)?;
        }
        Ok(())
    }

    /// Carries a command to its part.
    pub(crate) fn carry(
        &mut self,
        command: Command,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let is_older_copy = self.is_rolled_back();
        let ledger = LedgerView {
            book: &self.book,
            contracts: &self.contract_checks,
            contradictions: &self.contradictions,
            reads,
        };
        let context = &mut self.context;
        match command {
            Command::Record(transaction) => self.record(&transaction, reads)?,
            Command::BackChains(command) => {
                self.back_chains
                    .on_command(command, &self.book, context, reads)?;
            }
            Command::Intake(command) => {
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
            Command::Files(command) => match command {
                FilesCommand::NoteProposal { flow, transaction } => {
                    self.files.note_proposal(flow, &transaction, context);
                }
                FilesCommand::DropBrought { from, files } => {
                    self.files.drop_brought(from, files, context, reads)?;
                }
            },
            Command::Flows(command) => match command {
                FlowsCommand::Complete {
                    flow,
                    effect,
                    result,
                } => self.flows.complete(flow, effect, result, context),
                FlowsCommand::Recorded { flow, effect, id } => {
                    self.flows.on_recorded(flow, effect, id, context);
                }
                FlowsCommand::Checked {
                    flow,
                    effect,
                    is_good,
                } => self.flows.on_checked(flow, effect, is_good, context),
            },
            Command::Integrity(command) => match command {
                IntegrityCommand::NotaryAccepted(more) => {
                    self.integrity.lives.accept(more);
                }
                IntegrityCommand::NotaryEntered {
                    notarised,
                    conflicts,
                } => {
                    if let Some(recovery) = &mut self.integrity.recovery {
                        recovery.notarised += notarised;
                        recovery.conflicts += conflicts;
                    }
                }
            },
            Command::Peers(command) => {
                let now = context.now.monotonic;
                match command {
                    PeersCommand::Ask {
                        peer,
                        id,
                        service,
                        body,
                    } => self.links.ask(peer, id, service, body, now),
                    PeersCommand::ForgetRequest(id) => self.links.forget_request(&id, now),
                    PeersCommand::AnswerDelivery { peer, id } => {
                        self.links.answer_delivery(peer, id);
                    }
                    PeersCommand::Owe {
                        id,
                        bytes,
                        participants,
                    } => self.links.owe(id, bytes, &participants, context),
                    PeersCommand::KeepUnshared(transaction) => {
                        self.links.keep_unshared(&transaction);
                    }
                    PeersCommand::NoteFetched { peer, ids } => {
                        ids.into_iter()
                            .for_each(|id| self.links.note_fetched(peer, id));
                    }
                }
            }
            Command::KeepContradiction {
                state,
                brought_by,
                first,
                second,
            } => {
                let consumed = (state, brought_by);
                self.contradictions
                    .keep_proof(consumed, &first, &second, context);
            }
            Command::WithdrawStart { flow } => self.flows.withdraw_start(flow, context),
            Command::ScheduledStarted { due, flow, name } => {
                self.schedule.started(due, flow, name, context);
            }
            Command::RefuseScheduled {
                due,
                name,
                rejection,
            } => {
                self.schedule.refuse_start(due, name, rejection, context);
            }
            Command::EndScheduled { due } => self.schedule.cancelled(due, context),
            Command::StopWork { flow } => self.stop_work(flow),
            Command::ForgetFlow { flow } => self.forget_flow(flow),
            Command::KeepLocks { flow, locked } => {
                let now = context.now.monotonic;
                let out = self.selection.keep_only(flow.0, &locked, now);
                self.on_selection(out);
            }
            Command::Session { peer, message } => self.on_session_message(peer, message),
            Command::NoteRefusal { id } => self.flows.on_refused(&id),
            Command::AllAnswered { id } => {
                let deliveries = &self.links.unanswered;
                self.flows.on_all_delivered(&id, deliveries, context);
            }
        }
        Ok(())
    }

    /// Tells all parts to record a verified transaction, and to tell everybody who waits for it. Nothing is done if it is in the
    /// ledger already.
    pub(crate) fn record(
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
        Quarantine::end(&self.selection, wire.inputs(), context);
        self.selection.spend(wire.inputs());
        let changes = self.keys.recorded(seq, wire, context, reads)?;
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

    /// Ends all work of other parts for a flow that takes no step any more.
    fn stop_work(&mut self, flow: FlowId) {
        self.links
            .forget_requests_of(flow, self.context.now.monotonic);
        self.intake.stop_work(flow, &mut self.context);
    }

    /// Makes all parts forget a flow that has ended: its locks are free, and nothing is done for it any more.
    pub(crate) fn forget_flow(&mut self, flow: FlowId) {
        let out = self.selection.release(flow.0, self.context.now.monotonic);
        self.on_selection(out);
        self.flows.end_waits(flow);
        self.files.flow_ended(flow, &mut self.context);
        self.stop_work(flow);
    }
}
