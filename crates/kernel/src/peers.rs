//! Messages from peers: anything can be in them, from anybody whom TLS let in.

use std::sync::Arc;

use flow::messaging::RequestId;
use flow::{EffectResult, FlowError};
use ledger::{NotaryError, NotaryResponse, PartyId, SignedTransaction};
use primitives::{Decode, Encode};

use crate::errors;
use crate::event::Priority;
use crate::fetch;
use crate::intake::{Goal, ITEMS_MAX};
use crate::kernel::Kernel;
use crate::message::{Answer, FetchRequest, PeerMessage, ServiceId};
use crate::port::{Reads, StoreFailure};
use crate::rows::{META_QUARANTINE, meta_key, state_ref_key};

impl Kernel {
    pub(crate) fn on_message(
        &mut self,
        peer: PartyId,
        bytes: &[u8],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        self.figures.messages_in += 1;
        match PeerMessage::from_bytes(bytes) {
            Ok(message) => self.on_peer_message(peer, message, reads),
            Err(error) => {
                self.bad_message(peer, &error.to_string());
                Ok(())
            }
        }
    }

    pub(crate) fn bad_message(&mut self, peer: PartyId, what: &str) {
        self.figures.messages_bad += 1;
        self.log(true, "node.bad_message", format!("from {peer}: {what}"));
    }

    pub(crate) fn on_peer_message(
        &mut self,
        peer: PartyId,
        message: PeerMessage,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match message {
            PeerMessage::Session { seq, body } => self.on_session(peer, seq, body),
            PeerMessage::SessionAck { upto } => self.on_session_ack(peer, upto),
            PeerMessage::Request { id, service, body } => {
                self.on_request(peer, id, service, &body, reads)?
            }
            PeerMessage::Response { id, answer } => self.on_response(peer, id, answer, reads)?,
            PeerMessage::Deliver {
                transactions,
                dependencies,
            } => self.on_deliver(peer, &transactions, &dependencies, reads)?,
            PeerMessage::Delivered { ids } => self.on_delivered(peer, &ids),
            PeerMessage::Refused { id, rejection } => self.on_refused(peer, id, rejection),
        }
        Ok(())
    }

    fn on_request(
        &mut self,
        peer: PartyId,
        id: RequestId,
        service: u8,
        body: &[u8],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if service == ServiceId::Notarise as u8 && self.desk.is_some() {
            self.on_notarise(peer, id, body);
            return Ok(());
        }
        let answer = if service == ServiceId::Fetch as u8 {
            match FetchRequest::from_bytes(body) {
                Ok(request) => {
                    Answer::Done(fetch::serve(&request, &mut self.book, reads)?.to_bytes())
                }
                Err(error) => Answer::Failed(ledger::Rejection::of(&error)),
            }
        } else {
            let text = format!(
                "service {service} is not offered by {}",
                self.identity.me.name
            );
            Answer::Failed(errors::rejection(&errors::SERVICE_UNKNOWN, text))
        };
        self.send(peer, Priority::Bulk, PeerMessage::Response { id, answer });
        Ok(())
    }

    fn on_response(
        &mut self,
        peer: PartyId,
        id: RequestId,
        answer: Answer,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if let Answer::Wait(eta_ms) = answer {
            self.request_must_wait(&id, &peer, eta_ms);
            return Ok(());
        }
        if !self.request_answered(&id, &peer) {
            return Ok(());
        }
        if let Some(number) = resolution_of(&id) {
            return self.on_fetched(number, answer, reads);
        }
        let result = match answer {
            Answer::Done(body) => {
                self.look_for_conflict(&body);
                EffectResult::Response(body)
            }
            Answer::Failed(rejection) => EffectResult::Failed(FlowError::from_rejection(rejection)),
            Answer::Wait(_) => return Ok(()),
        };
        self.complete(id.flow, id.effect, result);
        Ok(())
    }

    /// The notary says that a state of ours is consumed: it must not be selected again, in this run or the next.
    fn look_for_conflict(&mut self, body: &[u8]) {
        let Ok(NotaryResponse::Refused(NotaryError::Conflict { conflicts })) =
            NotaryResponse::from_bytes(body)
        else {
            return;
        };
        for conflict in conflicts.iter().filter(|conflict| !conflict.is_reference) {
            let input = conflict.input;
            if self.selection.quarantine(input) {
                let key = meta_key(META_QUARANTINE, &state_ref_key(&input));
                self.round
                    .batch
                    .put(crate::port::Table::Meta, key, Vec::new());
                let text = format!(
                    "state {input} is consumed elsewhere, says the notary; it is set aside"
                );
                self.log(true, "vault.quarantined", text);
            }
        }
    }

    fn on_deliver(
        &mut self,
        peer: PartyId,
        transactions: &[Vec<u8>],
        dependencies: &[Vec<u8>],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let mut wanted = std::collections::BTreeSet::new();
        let mut delivered = Vec::with_capacity(transactions.len());
        for bytes in transactions {
            match SignedTransaction::from_bytes(bytes) {
                Ok(transaction) => delivered.push(transaction),
                // Without an id there is nothing to refuse; the sender will find no answer in its log, we one here.
                Err(error) => self.bad_message(peer, &format!("a delivered transaction: {error}")),
            }
        }
        for transaction in &delivered {
            wanted.extend(fetch::dependencies(transaction));
        }
        for bytes in dependencies {
            if let Ok(transaction) = SignedTransaction::from_bytes(bytes)
                && wanted.contains(&transaction.id())
                && self.intake.len() < ITEMS_MAX
                && !self.book.contains(&transaction.id(), reads)?
            {
                self.take_in(Arc::new(transaction), Goal::Dependency, Some(peer));
            }
        }
        for transaction in delivered {
            let id = transaction.id();
            if self.book.contains(&id, reads)? {
                self.answer_delivery(peer, id);
            } else if self.intake.len() < ITEMS_MAX {
                self.take_in(Arc::new(transaction), Goal::Deliver { peer }, Some(peer));
            }
        }
        Ok(())
    }
}

/// Requests of resolutions have flow ids that no flow has.
pub(crate) fn resolution_request(number: u64, step: u32) -> RequestId {
    let mut flow = [0xff; 16];
    flow[8..].copy_from_slice(&number.to_be_bytes());
    RequestId {
        flow: flow::FlowId(flow),
        effect: step,
    }
}

fn resolution_of(id: &RequestId) -> Option<u64> {
    let bytes = id.flow.as_bytes();
    let number = bytes.last_chunk::<8>()?;
    (bytes[..8] == [0xff; 8]).then(|| u64::from_be_bytes(*number))
}
