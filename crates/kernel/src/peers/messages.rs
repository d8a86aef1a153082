//! Dispatches messages from peers. Any peer that TLS admits may send arbitrary bytes.

use flow::messaging::RequestId;
use ledger::PartyId;

use crate::back_chains::requests::resolution_of;
use crate::clock::{ClockWatch, asking_of};
use crate::command::{
    BackChainsCommand, ClockCommand, IntakeCommand, IntegrityCommand, NotaryCommand,
};
use crate::context::Context;
use crate::errors;
use crate::event::Priority;
use crate::integrity::is_recovery;
use crate::message::{Answer, NOTICE_ID, PeerMessage, ServiceId};
use crate::peers::links::Links;

/// The properties of this node that decide about a message from a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Duties {
    /// Session messages are handled. After a start they wait until a peer has shown that the data is no older copy: a responder could
    /// give value for evidence whose claim an older copy does not have.
    pub(crate) takes_sessions: bool,
    /// This node is a notary.
    pub(crate) is_notary: bool,
}

impl Links {
    /// Takes a message, and passes it to the part that handles it.
    pub(crate) fn on_message(
        &mut self,
        peer: PartyId,
        message: PeerMessage,
        duties: Duties,
        context: &mut Context,
    ) {
        match message {
            PeerMessage::Session { seq, body } if duties.takes_sessions => {
                self.take_untaken(peer);
                self.on_session(peer, seq, body);
            }
            PeerMessage::Session { seq, body } => self.untaken.keep(peer, seq, body),
            PeerMessage::SessionAck { upto } => self.on_ack(peer, upto, context),
            PeerMessage::Request { id, service, body } => {
                on_request(peer, id, service, body, duties, context);
            }
            PeerMessage::Response { id, answer } => self.on_response(peer, id, answer, context),
            PeerMessage::Deliver {
                transactions,
                dependencies,
            } => context.command(IntakeCommand::Deliver {
                peer,
                transactions,
                dependencies,
            }),
            PeerMessage::Delivered { ids } => self.on_delivered(peer, &ids, context),
            PeerMessage::Refused { id, rejection } => {
                self.on_refused(peer, id, rejection, context);
            }
            PeerMessage::Standing(standing) => self.on_standing(peer, standing, context),
            PeerMessage::Mark(mark) => {
                context.command(IntegrityCommand::KeepMark { peer, mark });
            }
        }
    }

    fn on_response(&mut self, peer: PartyId, id: RequestId, answer: Answer, context: &mut Context) {
        if id == NOTICE_ID {
            self.on_waiting_notice(peer, &answer, context);
            return;
        }
        if let Some(number) = asking_of(&id) {
            context.command(ClockCommand::Told {
                number,
                peer,
                answer,
            });
            return;
        }
        let now = context.now.monotonic;
        if let Answer::Wait(eta_ms) = answer {
            self.request_must_wait(&id, &peer, eta_ms, now);
            return;
        }
        let Some(asked) = self.request_answered(&id, &peer, now) else {
            return;
        };
        if is_recovery(&id) {
            context.command(IntegrityCommand::Searched { peer, answer });
        } else if let Some(number) = resolution_of(&id) {
            context.command(BackChainsCommand::Fetched { number, answer });
        } else {
            // The answer of a service, whichever of its servers gave it.
            let peer = asked;
            context.command(IntegrityCommand::Answered { peer, id, answer });
        }
    }
}

/// Passes a request of a peer on to the part that offers the service.
fn on_request(
    peer: PartyId,
    id: RequestId,
    service: u8,
    body: Vec<u8>,
    duties: Duties,
    context: &mut Context,
) {
    if service == ServiceId::Recover as u8 {
        context.command(IntegrityCommand::Search { peer, id, body });
        return;
    } else if service == ServiceId::Notarise as u8 && duties.is_notary {
        context.command(NotaryCommand::Notarise { peer, id, body });
        return;
    } else if service == ServiceId::Fetch as u8 {
        context.command(BackChainsCommand::Serve { peer, id, body });
        return;
    }
    let answer = if service == ServiceId::Clock as u8 {
        ClockWatch::answer(context)
    } else {
        let me = &context.identity.me.name;
        let text = format!("service {service} is not offered by {me}");
        Answer::Failed(errors::rejection(&errors::SERVICE_UNKNOWN, text))
    };
    context.send(peer, Priority::Normal, PeerMessage::Response { id, answer });
}
