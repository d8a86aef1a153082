//! The entry of the intake.

use crate::command::IntakeCommand;
use crate::context::Context;
use crate::intake::items::Intake;
use crate::intake::views::IntakeViews;
use crate::port::StoreFailure;
use crate::round::Work;

impl Intake {
    /// Carries out a command.
    pub(crate) fn on_command(
        &mut self,
        command: IntakeCommand,
        views: IntakeViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        match command {
            IntakeCommand::TakeIn {
                transaction,
                goal,
                from,
            } => self.take_in(transaction, goal, from, Vec::new(), context),
            IntakeCommand::Record {
                flow,
                effect,
                transaction,
                deliver_to,
            } => self.on_record((flow, effect), transaction, deliver_to, views, context)?,
            IntakeCommand::Deliver {
                peer,
                transactions,
                dependencies,
            } => self.on_deliver(peer, &transactions, &dependencies, views, context)?,
            IntakeCommand::DeliveredToo { peer, transaction } => {
                self.on_delivered_too(peer, transaction, views, context)?;
            }
            IntakeCommand::Checked { item, is_good } => self.on_checked(item, is_good, context),
            IntakeCommand::LookForDependencies(item) => {
                self.look_for_dependencies(item, views, context)?;
            }
            IntakeCommand::Conclude(item) => self.conclude(item, views, context)?,
            IntakeCommand::LookAgain(item) => context.work.push_back(Work::Signed(item)),
            IntakeCommand::WaitsForChain { item, number } => self.waits_for_chain(item, number),
            IntakeCommand::AwaitDecision(item) => self.waits_for_decision(item, context),
            IntakeCommand::Refuse { item, fault } => self.refuse(item, fault, context),
            IntakeCommand::RefuseForFiles { item, rejection } => {
                self.refuse_for_files(item, rejection, context);
            }
            IntakeCommand::LeaveUnanswered {
                item,
                code,
                rejection,
            } => self.leave_unanswered(item, code, rejection, context),
            IntakeCommand::Drop(item) => drop(self.take_out(item, context)),
            IntakeCommand::DropEffect(effect) => self.drop_effect(effect, context),
            IntakeCommand::DropFlows(flows) => self.drop_flows(&flows, context),
            IntakeCommand::DropRequests(numbers) => self.drop_requests(&numbers, context),
            IntakeCommand::FileIsHere {
                hash,
                size,
                is_upload,
            } => self.file_is_here(hash, size, is_upload, context),
            IntakeCommand::FileOffered { hash, peer, size } => {
                self.file_offered(hash, peer, size, context);
            }
            IntakeCommand::FileFailed {
                hash,
                peer,
                failure,
            } => self.file_failed((hash, peer), failure, views.chains, context),
        }
        Ok(())
    }
}
