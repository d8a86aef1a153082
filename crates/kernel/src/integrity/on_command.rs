//! The entry of the checks of this node's data.

use flow::messaging::RequestId;
use flow::{EffectResult, FlowError};
use ledger::PartyId;

use super::conflicts::states_in_conflict;
use super::state::Integrity;
use super::views::IntegrityViews;
use crate::command::{IntegrityCommand, SelectionCommand};
use crate::context::Context;
use crate::message::Answer;
use crate::port::StoreFailure;

impl Integrity {
    /// Carries out a command.
    pub(crate) fn on_command(
        &mut self,
        command: IntegrityCommand,
        views: IntegrityViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        match command {
            IntegrityCommand::NotaryAccepted(more) => {
                self.lives.accept(more);
            }
            IntegrityCommand::NotaryEntered {
                notarised,
                conflicts,
            } => {
                if let Some(recovery) = &mut self.recovery {
                    recovery.notarised += notarised;
                    recovery.conflicts += conflicts;
                }
            }
            IntegrityCommand::Order { order, token } => {
                self.on_order(order, token, views, context);
            }
            IntegrityCommand::SendStanding { peer } => self.send_standing(peer, views, context)?,
            IntegrityCommand::Tend => self.tend(views, context),
            IntegrityCommand::Search { peer, id, body } => {
                self.on_recover_request(peer, id, &body, views, context)?;
            }
            IntegrityCommand::Searched { peer, answer } => {
                self.on_recovered(peer, answer, context);
            }
            IntegrityCommand::Answered { peer, id, answer } => {
                on_answer(peer, id, answer, views, context)?;
            }
            IntegrityCommand::CheckStanding { peer, standing } => {
                self.check_standing(peer, standing, views, context)?;
            }
            IntegrityCommand::LinkContradicts { peer, text } => {
                self.found_on_link(peer, text, context);
            }
            IntegrityCommand::Meet { peer, shows_mark } => {
                self.meet(peer, shows_mark, views, context);
            }
            IntegrityCommand::KeepMark { peer, mark } => {
                self.keep_mark(peer, mark, &mut context.round.batch);
            }
        }
        Ok(())
    }
}

/// Gives a peer's answer to the flow that asked. A notary's conflict puts states of this vault into quarantine.
fn on_answer(
    peer: PartyId,
    id: RequestId,
    answer: Answer,
    views: IntegrityViews<'_>,
    context: &mut Context,
) -> Result<(), StoreFailure> {
    let result = match answer {
        Answer::Done(body) => {
            let found = states_in_conflict(peer, &body, views, context)?;
            if !found.is_empty() {
                context.command(SelectionCommand::Quarantine(found));
            }
            EffectResult::Response(body)
        }
        Answer::Failed(rejection) => EffectResult::Failed(FlowError::from_rejection(rejection)),
        // The request is repeated later.
        Answer::Wait(_) => return Ok(()),
    };
    context.complete((id.flow, id.effect), result);
    Ok(())
}
