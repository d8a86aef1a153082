//! The router's dealings with peers: events of connections that concern several parts.

use flow::{SHARE_EXCEEDED_CODE, SessionBody, SessionMessage};
use ledger::PartyId;

use crate::errors;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};

impl Kernel {
    pub(crate) fn on_peer_up(
        &mut self,
        peer: PartyId,
        epoch: u64,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        self.clock.peer_up(peer);
        self.context.forget_backlog(&peer);
        self.links.peer_up(peer, epoch, self.context.now.monotonic);
        self.back_chains.peer_up(peer);
        self.intake.peer_up(peer);
        self.send_standing(peer, reads)?;
        self.pump_links(reads)
    }

    pub(crate) fn on_peer_down(&mut self, peer: PartyId) {
        self.clock.peer_down(&peer);
        self.context.forget_backlog(&peer);
        self.links.peer_down(peer);
        self.integrity.met.remove(&peer);
        self.back_chains.peer_down(&peer);
        self.intake.peer_down(peer, &mut self.context);
    }

    /// Returns whether session messages are handled. After a start they wait until a peer has shown that the data is no older copy:
    /// a responder could give value for evidence whose claim an older copy does not have.
    pub(crate) fn takes_sessions(&self) -> bool {
        self.is_rolled_back() || self.flows.is_witnessed()
    }

    /// Gives a session message of a peer to its flow. If the data is an older copy, no session is opened.
    pub(crate) fn on_session_message(&mut self, peer: PartyId, message: SessionMessage) {
        let opens = matches!(message.body, SessionBody::Init { .. }) && !message.to_initiator;
        if opens && self.is_rolled_back() {
            let text = format!(
                "the data of {} is an older copy; it opens no session before it has recovered",
                self.context.identity.me.name
            );
            let reason = errors::rejection(&errors::ROLLED_BACK, text);
            self.send_session(peer, SessionMessage::refusal(message.session, reason));
            return;
        }
        self.flows.on_session(peer, message, &mut self.context);
    }

    /// Sends a session message of a flow. One to this node itself is handled at once.
    pub(crate) fn send_session(&mut self, peer: PartyId, message: SessionMessage) {
        if peer == self.context.my_id {
            self.flows.on_session(peer, message, &mut self.context);
            return;
        }
        let error = match &message.body {
            SessionBody::End { error, .. } => error.as_ref(),
            _ => None,
        };
        let now = self.context.now.monotonic;
        if error.is_some_and(|error| error.code == SHARE_EXCEEDED_CODE) {
            self.context.note_excess(peer);
        }
        let is_refusal = error.is_some();
        self.links.send_session(peer, &message, is_refusal, now);
    }

    /// Carries out the actions of the messaging machines, until they have none.
    pub(crate) fn pump_links(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while let Some(actions) = self.links.take_actions() {
            for action in actions.inbox {
                self.links.on_inbox_action(action, &mut self.context);
                self.route(reads)?;
            }
            for action in actions.outbox {
                self.links.on_outbox_action(action, &mut self.context);
            }
            for action in actions.deliveries {
                let (book, context) = (&self.book, &mut self.context);
                self.links
                    .on_delivery_action(action, book, context, reads)?;
            }
            for action in actions.requests {
                self.links.on_request_action(action, &mut self.context);
            }
        }
        Ok(())
    }
}
