//! The entry of the flows.

use flow::{SessionBody, SessionMessage};
use ledger::PartyId;

use crate::command::FlowsCommand;
use crate::context::Context;
use crate::errors;
use crate::flows::Flows;
use crate::flows::views::FlowViews;
use crate::port::StoreFailure;

impl Flows {
    /// Carries out a command.
    pub(crate) fn on_command(
        &mut self,
        command: FlowsCommand,
        views: FlowViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        match command {
            FlowsCommand::Start(start) => self.on_start(*start, views, context)?,
            FlowsCommand::Attach { flow, wait, token } => {
                self.on_attach(flow, wait, token, views.deliveries, context);
            }
            FlowsCommand::Recall {
                outcome,
                wait,
                token,
            } => self.answer_ended(outcome, wait, token, views.deliveries, context),
            FlowsCommand::HistoryLookedUp { found } => {
                self.history
                    .on_looked_up(&found, views.trusts_wall, context);
            }
            FlowsCommand::Detach { token } => self.detach(token),
            FlowsCommand::Cancel { flow, token } => {
                self.on_cancel(flow, token, context, views.reads)?;
            }
            FlowsCommand::RemoveClient {
                user,
                client_id,
                token,
            } => self.on_remove_client(&user, &client_id, token, context, views.reads)?,
            FlowsCommand::Order {
                order,
                filter,
                after,
                dry_run,
                token,
            } => {
                let dry = (dry_run, token);
                self.on_order(order, &filter, after, dry, views, context)?;
            }
            FlowsCommand::LookedUp { effect, found } => {
                self.on_looked_up(effect, found, views, context)?;
            }
            FlowsCommand::Act(action) => self.on_engine_action(action, views, context)?,
            FlowsCommand::Complete {
                flow,
                effect,
                result,
            } => self.complete(flow, effect, result, context),
            FlowsCommand::Recorded { flow, effect, id } => {
                self.on_recorded(flow, effect, id, context);
            }
            FlowsCommand::Checked {
                flow,
                effect,
                is_good,
            } => self.on_checked(flow, effect, is_good, context),
            FlowsCommand::Ended {
                flow,
                start,
                peers,
                outcome,
            } => {
                let start = start.as_deref();
                self.on_ended(flow, start, peers, outcome, views.deliveries, context);
            }
            FlowsCommand::Locked {
                effect,
                states,
                locked,
            } => self.on_locked(effect, states, locked, context),
            FlowsCommand::WithdrawStart { flow } => self.withdraw_start(flow, context),
            FlowsCommand::Session { peer, message } => {
                self.on_peer_session(peer, message, views, context);
            }
            FlowsCommand::NoteRefusal { id } => self.on_refused(&id),
            FlowsCommand::AllAnswered { id } => {
                self.on_all_delivered(&id, views.deliveries, context);
            }
            FlowsCommand::Met { peer, shows_mark } => {
                self.met(peer, shows_mark, context.now.monotonic);
            }
            FlowsCommand::StopCopied { data_until, reason } => {
                self.stop_copied(data_until, &reason, context);
            }
            FlowsCommand::RecoveryFinished => self.recovery_finished(),
        }
        Ok(())
    }

    /// Gives a session message of a peer to its flow. If the data is an older copy, no session is opened.
    fn on_peer_session(
        &mut self,
        peer: PartyId,
        message: SessionMessage,
        views: FlowViews<'_>,
        context: &mut Context,
    ) {
        let opens = matches!(message.body, SessionBody::Init { .. }) && !message.to_initiator;
        if opens && views.older_copy.is_some() {
            let text = format!(
                "the data of {} is an older copy; it opens no session before it has recovered",
                context.identity.me.name
            );
            let reason = errors::rejection(&errors::ROLLED_BACK, text);
            let refusal = SessionMessage::refusal(message.session, reason);
            self.send_session(peer, refusal, context);
            return;
        }
        self.on_session(peer, message, context);
    }
}
