//! The entry of the links: commands of other parts.

use flow::{SHARE_EXCEEDED_CODE, SessionBody, SessionMessage};
use ledger::PartyId;

use crate::command::PeersCommand;
use crate::context::Context;
use crate::peers::links::Links;

impl Links {
    /// Carries out a command.
    pub(crate) fn on_command(&mut self, command: PeersCommand, context: &mut Context) {
        let now = context.now.monotonic;
        match command {
            PeersCommand::Ask {
                peer,
                id,
                service,
                body,
            } => self.ask(peer, id, service, body, now),
            PeersCommand::ForgetRequest(id) => self.forget_request(&id, now),
            PeersCommand::AnswerDelivery { peer, id } => self.answer_delivery(peer, id),
            PeersCommand::Owe {
                id,
                bytes,
                participants,
            } => self.owe(id, bytes, &participants, context),
            PeersCommand::KeepUnshared(transaction) => self.keep_unshared(&transaction),
            PeersCommand::NoteFetched { peer, ids } => {
                ids.into_iter().for_each(|id| self.note_fetched(peer, id));
            }
            PeersCommand::SendSession { peer, message } => {
                self.number_session(peer, &message, context);
            }
            PeersCommand::CompareNumbers { peer, standing } => {
                self.compare_numbers(peer, &standing, context);
            }
        }
    }

    /// Numbers a session message to a peer, and notes a peer that has gone beyond its share.
    pub(super) fn number_session(
        &mut self,
        peer: PartyId,
        message: &SessionMessage,
        context: &mut Context,
    ) {
        let error = match &message.body {
            SessionBody::End { error, .. } => error.as_ref(),
            _ => None,
        };
        if error.is_some_and(|error| error.code == SHARE_EXCEEDED_CODE) {
            context.note_excess(peer);
        }
        let is_refusal = error.is_some();
        self.send_session(peer, message, is_refusal, context.now.monotonic);
    }
}
