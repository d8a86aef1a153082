//! Messages from peers. Any peer that TLS admits may send any bytes.

use flow::messaging::RequestId;
use flow::{EffectResult, FlowError};
use ledger::PartyId;
use primitives::Decode;

use crate::back_chains::requests::resolution_of;
use crate::clock::{ClockWatch, asking_of};
use crate::command::{BackChainsCommand, IntakeCommand, NotaryCommand};
use crate::errors;
use crate::event::Priority;
use crate::integrity::is_recovery;
use crate::integrity::quarantine::{Quarantine, VaultOwners, states_in_conflict};
use crate::kernel::Kernel;
use crate::message::{Answer, NOTICE_ID, PeerMessage, ServiceId};
use crate::peers::budget::Door;
use crate::port::{Reads, StoreFailure};

impl Kernel {
    pub(crate) fn on_message(
        &mut self,
        peer: PartyId,
        bytes: Vec<u8>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match self.context.arrived(peer, bytes) {
            Door::Handle(bytes) => self.take_message(peer, &bytes, reads),
            Door::Kept => Ok(()),
        }
    }

    /// Handles messages of earlier rounds, within each peer's share of this one.
    pub(crate) fn take_deferred_messages(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while let Some((peer, bytes)) = self.context.next_deferred() {
            self.take_message(peer, &bytes, reads)?;
            self.settle(reads)?;
        }
        Ok(())
    }

    fn take_message(
        &mut self,
        peer: PartyId,
        bytes: &[u8],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match PeerMessage::from_bytes(bytes) {
            Ok(message) => self.on_peer_message(peer, message, reads),
            Err(error) => {
                self.context.bad_message(peer, &error.to_string());
                Ok(())
            }
        }
    }

    pub(crate) fn on_peer_message(
        &mut self,
        peer: PartyId,
        message: PeerMessage,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match message {
            PeerMessage::Session { seq, body } if self.takes_sessions() => {
                self.links.on_session(peer, seq, body);
            }
            // The peer repeats it.
            PeerMessage::Session { .. } => {}
            PeerMessage::SessionAck { upto } => self.links.on_ack(peer, upto, &mut self.context),
            PeerMessage::Request { id, service, body } => {
                self.on_request(peer, id, service, body, reads)?
            }
            PeerMessage::Response { id, answer } => self.on_response(peer, id, answer, reads)?,
            PeerMessage::Deliver {
                transactions,
                dependencies,
            } => self.context.command(IntakeCommand::Deliver {
                peer,
                transactions,
                dependencies,
            }),
            PeerMessage::Delivered { ids } => {
                self.links.on_delivered(peer, &ids, &mut self.context)
            }
            PeerMessage::Refused { id, rejection } => {
                self.links
                    .on_refused(peer, id, rejection, &mut self.context)
            }
            PeerMessage::Standing(standing) => self.on_standing(peer, standing, reads)?,
            PeerMessage::Mark(mark) => {
                let batch = &mut self.context.round.batch;
                self.integrity.keep_mark(peer, mark, batch);
            }
        }
        self.route(reads)
    }

    fn on_request(
        &mut self,
        peer: PartyId,
        id: RequestId,
        service: u8,
        body: Vec<u8>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let context = &mut self.context;
        if service == ServiceId::Recover as u8 {
            return self.on_recover_request(peer, id, &body, reads);
        } else if service == ServiceId::Notarise as u8 && self.notarisation.is_some() {
            context.command(NotaryCommand::Notarise { peer, id, body });
            return Ok(());
        } else if service == ServiceId::Fetch as u8 {
            context.command(BackChainsCommand::Serve { peer, id, body });
            return Ok(());
        }
        let answer = if service == ServiceId::Clock as u8 {
            ClockWatch::answer(context)
        } else {
            let me = &context.identity.me.name;
            let text = format!("service {service} is not offered by {me}");
            Answer::Failed(errors::rejection(&errors::SERVICE_UNKNOWN, text))
        };
        context.send(peer, Priority::Normal, PeerMessage::Response { id, answer });
        Ok(())
    }

    fn on_response(
        &mut self,
        peer: PartyId,
        id: RequestId,
        answer: Answer,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if id == NOTICE_ID {
            self.links
                .on_waiting_notice(peer, &answer, &mut self.context);
            return Ok(());
        }
        if let Some(number) = asking_of(&id) {
            self.clock.on_told(number, peer, &answer, self.context.now);
            return Ok(());
        }
        if let Answer::Wait(eta_ms) = answer {
            self.links
                .request_must_wait(&id, &peer, eta_ms, self.context.now.monotonic);
            return Ok(());
        }
        if !self
            .links
            .request_answered(&id, &peer, self.context.now.monotonic)
        {
            return Ok(());
        }
        if is_recovery(&id) {
            self.on_recovered(peer, answer);
            return Ok(());
        }
        if let Some(number) = resolution_of(&id) {
            let fetched = BackChainsCommand::Fetched { number, answer };
            self.context.command(fetched);
            return Ok(());
        }
        let result = match answer {
            Answer::Done(body) => {
                let parts = VaultOwners {
                    book: &self.book,
                    contradictions: &self.contradictions,
                    keys: &self.keys,
                };
                let found = states_in_conflict(peer, &body, parts, &self.context, reads)?;
                for state in found {
                    if self.selection.quarantine(state) {
                        Quarantine::begin(&self.selection, state, &mut self.context);
                    }
                }
                EffectResult::Response(body)
            }
            Answer::Failed(rejection) => EffectResult::Failed(FlowError::from_rejection(rejection)),
            Answer::Wait(_) => return Ok(()),
        };
        self.complete(id.flow, id.effect, result);
        Ok(())
    }
}
