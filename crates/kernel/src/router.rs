//! The router: carries the commands of parts to the parts that they are for.

use crate::command::Command;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};

impl Kernel {
    /// Carries the commands that the last call of a part has made, each with the commands that it causes.
    pub(crate) fn route(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        for command in self.context.take_commands() {
            self.carry(command, reads)?;
            self.route(reads)?;
        }
        Ok(())
    }

    fn carry(&mut self, command: Command, reads: &dyn Reads) -> Result<(), StoreFailure> {
        match command {
            Command::WithdrawStart { flow } => self.flows.withdraw_start(flow, &mut self.context),
            Command::ScheduledStarted { due, flow, name } => {
                self.schedule.started(due, flow, name, &mut self.context);
            }
            Command::RefuseScheduled {
                due,
                name,
                rejection,
            } => {
                let context = &mut self.context;
                self.schedule.refuse_start(due, name, rejection, context);
            }
            Command::EndScheduled { due } => self.schedule.cancelled(due, &mut self.context),
            Command::StopWork { flow } => self.stop_work(flow),
            Command::ForgetFlow { flow } => self.forget_flow(flow),
            Command::KeepLocks { flow, locked } => {
                let now = self.context.now.monotonic;
                let out = self.selection.keep_only(flow.0, &locked, now);
                self.on_selection(out);
            }
            Command::Session { peer, message } => self.on_session_message(peer, message),
            Command::BadMessage { peer, what } => self.bad_message(peer, &what),
            Command::NoteRefusal { id } => self.flows.on_refused(&id),
            Command::AllAnswered { id } => {
                let (deliveries, context) = (&self.links.unanswered, &mut self.context);
                self.flows.on_all_delivered(&id, deliveries, context);
            }
            Command::FileIsHere {
                hash,
                size,
                is_upload,
            } => {
                let context = &mut self.context;
                self.intake.file_is_here(hash, size, is_upload, context);
            }
            Command::Refuse { item, fault } => self.refuse(item, fault),
            Command::RefuseForFiles { item, rejection } => {
                let brought = self.intake.brought(item, &self.context);
                // The network's parameters may allow them another time.
                self.refuse(item, crate::intake::fault::Fault::Local(rejection));
                if let Some((from, files)) = brought {
                    let context = &mut self.context;
                    self.files.drop_brought(from, files, context, reads)?;
                }
            }
            Command::LeaveUnanswered {
                item,
                code,
                rejection,
            } => self.leave_unanswered(item, code, rejection),
        }
        Ok(())
    }
}
