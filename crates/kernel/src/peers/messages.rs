//! Messages from peers. Any peer that TLS admits may send any bytes.

use std::collections::BTreeSet;
use std::sync::Arc;

use flow::messaging::RequestId;
use flow::{EffectResult, FlowError};
use ledger::{PartyId, RegistryError, Rejection, SignedTransaction};
use primitives::{Decode, Encode};

use crate::back_chains::answers;
use crate::back_chains::fetching::resolution_of;
use crate::back_chains::serving::{FETCH_WAIT_MS, FETCHED_PER_ROUND};
use crate::clock::{ClockWatch, asking_of};
use crate::errors;
use crate::event::{Action, Priority};
use crate::intake::classify::{no_part_of_ours, older_copy_lacks_keys};
use crate::intake::concerns::concerns;
use crate::intake::items::Goal;
use crate::intake::missing_contracts::contract_unknown_of;
use crate::integrity::is_recovery;
use crate::integrity::quarantine::{Quarantine, VaultOwners, states_in_conflict};
use crate::kernel::Kernel;
use crate::message::{Answer, FetchRequest, NOTICE_ID, PeerMessage, ServiceId};
use crate::notarisation::answers::refuse_on_older_copy;
use crate::peers::budget::{Door, GARBAGE_MESSAGE};
use crate::peers::notices::{lacks_contract, leave_waiting};
use crate::port::{Reads, StoreFailure};
use crate::round::CheckOwner;

impl Kernel {
    pub(crate) fn on_message(
        &mut self,
        peer: PartyId,
        bytes: Vec<u8>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        self.context.figures.messages_in += 1;
        match self
            .budgets
            .arrived(peer, bytes, self.context.now.monotonic)
        {
            Door::Handle(bytes) => self.take_message(peer, &bytes, reads),
            Door::Kept => Ok(()),
        }
    }

    /// Handles messages of earlier rounds, within each peer's share of this one.
    pub(crate) fn take_deferred_messages(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while let Some((peer, bytes)) = self.budgets.next(self.context.now.monotonic) {
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
                self.bad_message(peer, &error.to_string());
                Ok(())
            }
        }
    }

    pub(crate) fn bad_message(&mut self, peer: PartyId, what: &str) {
        self.context.figures.messages_bad += 1;
        self.context.complain(errors::BAD_MESSAGE.code, peer, what);
        self.note_garbage(peer, GARBAGE_MESSAGE);
    }

    /// A peer has sent something that makes no sense: with too much of it the peer is cut off for a while.
    pub(crate) fn note_garbage(&mut self, peer: PartyId, points: u64) {
        if peer == self.context.my_id {
            return;
        }
        if let Some(ms) = self
            .budgets
            .garbage(peer, points, self.context.now.monotonic)
        {
            self.context.round.then.push(Action::CutOff { peer, ms });
            let text = format!("peer {peer} sent too much garbage: it is cut off for {ms} ms");
            self.context.warn(errors::PEER_CUT_OFF.code, text);
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
                self.on_request(peer, id, service, &body, reads)?
            }
            PeerMessage::Response { id, answer } => self.on_response(peer, id, answer, reads)?,
            PeerMessage::Deliver {
                transactions,
                dependencies,
            } => self.on_deliver(peer, &transactions, &dependencies, reads)?,
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
        body: &[u8],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let answer = if service == ServiceId::Recover as u8 {
            return self.on_recover_request(peer, id, body, reads);
        } else if service == ServiceId::Notarise as u8 && self.notarisation.is_some() {
            if self.is_rolled_back() {
                refuse_on_older_copy(peer, id, &mut self.context);
                return Ok(());
            }
            self.on_notarise(peer, id, body, reads)?;
            return Ok(());
        } else if service == ServiceId::Clock as u8 {
            ClockWatch::answer(&self.context)
        } else if service == ServiceId::Fetch as u8 {
            match FetchRequest::from_bytes(body) {
                Ok(request) if !self.may_fetch(peer, &request, reads)? => {
                    let text = "the transaction does not concern the notary that asks";
                    Answer::Failed(errors::rejection(&errors::BACK_CHAIN_NOT_SHARED, text))
                }
                Ok(request) => {
                    if self.fetches.push(peer, id, request) {
                        return Ok(());
                    }
                    Answer::Wait(FETCH_WAIT_MS)
                }
                Err(error) => Answer::Failed(Rejection::of(&error)),
            }
        } else {
            let text = format!(
                "service {service} is not offered by {}",
                self.context.identity.me.name
            );
            Answer::Failed(errors::rejection(&errors::SERVICE_UNKNOWN, text))
        };
        self.context
            .send(peer, Priority::Normal, PeerMessage::Response { id, answer });
        Ok(())
    }

    /// A notary that does not validate knows the ids of all transactions that it notarises, and must not see their content. At
    /// any other node, a peer that knows an id was told it by a participant.
    fn may_fetch(
        &self,
        peer: PartyId,
        request: &FetchRequest,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        let network = &self.context.identity.network;
        let info = network.node(&peer);
        let validates = info
            .and_then(|info| info.notary)
            .is_some_and(|notary| notary.validating);
        if validates || !network.is_notary(&peer) {
            return Ok(true);
        }
        let root = self.book.read(&request.root, reads)?;
        let key = info.map(|info| &info.party.key);
        Ok(root.is_some_and(|root| {
            concerns(&root.transaction, &self.context, &|other| {
                Some(other) == key
            })
        }))
    }

    /// Serves back chains, as many as a round may.
    pub(crate) fn serve_back_chains(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        if std::mem::replace(&mut self.context.round.chains_served, true) {
            return Ok(());
        }
        let mut served = 0;
        while served < FETCHED_PER_ROUND
            && let Some((peer, id, request)) = self.fetches.pop()
        {
            let (response, ids) =
                answers::serve(&request, self.context.room.part(), &self.book, reads)?;
            // A transaction that a peer has fetched need not go along with a later delivery.
            for id in ids {
                self.links.note_fetched(peer, id);
            }
            // Looking up the requested ids is work too.
            served += 1 + response.transactions.len() + request.wanted.len() / 16;
            let answer = Answer::Done(response.to_bytes());
            self.context
                .send(peer, Priority::Bulk, PeerMessage::Response { id, answer });
        }
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
            return self.on_recovered(peer, answer, reads);
        }
        if let Some(number) = resolution_of(&id) {
            return self.on_fetched(number, answer, reads);
        }
        let result = match answer {
            Answer::Done(body) => {
                let parts = VaultOwners {
                    book: &mut self.book,
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

    fn on_deliver(
        &mut self,
        peer: PartyId,
        transactions: &[Vec<u8>],
        dependencies: &[Vec<u8>],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let mut along = Vec::with_capacity(dependencies.len());
        for bytes in dependencies {
            match SignedTransaction::from_bytes(bytes) {
                Ok(transaction) => along.push(Arc::new(transaction)),
                Err(error) => self.bad_message(peer, &format!("a dependency: {error}")),
            }
        }
        for bytes in transactions {
            // Transactions beyond the peer's share of the round get no answer, and are delivered again.
            if !self.budgets.may_work(&peer, self.context.now.monotonic) {
                break;
            }
            match SignedTransaction::from_bytes(bytes) {
                Ok(transaction) => self.on_delivered_one(peer, transaction, &along, reads)?,
                // Without an id there is nothing to refuse; the sender will find no answer in its log, we one here.
                Err(error) => self.bad_message(peer, &format!("a delivered transaction: {error}")),
            }
        }
        Ok(())
    }

    fn on_delivered_one(
        &mut self,
        peer: PartyId,
        transaction: SignedTransaction,
        along: &[Arc<SignedTransaction>],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let id = transaction.id();
        if self.book.contains(&id, reads)?
            && !(self.files.lacks(transaction.wire(), &self.context, reads)?
                && self.concerns_us(&transaction, reads)?)
        {
            self.links.answer_delivery(peer, id);
            return Ok(());
        }
        if !self.concerns_us(&transaction, reads)? {
            if let Some(name) =
                contract_unknown_of(&transaction, &mut self.book, &self.context, reads)?
            {
                let error = RegistryError::Unknown(name);
                lacks_contract(peer, id, Rejection::of(&error), &mut self.context);
                return Ok(());
            }
            let rejection = if self.is_rolled_back() {
                older_copy_lacks_keys(&self.context)
            } else {
                // Keys may come back with a backup.
                no_part_of_ours()
            };
            let code = errors::DELIVERY_WAITS.code;
            leave_waiting(peer, id, code, rejection, &mut self.context);
            return Ok(());
        }
        let wanted: BTreeSet<_> = match along {
            [] => BTreeSet::new(),
            _ => answers::dependencies(&transaction),
        };
        let mut mine = Vec::new();
        for dependency in along
            .iter()
            .filter(|dependency| wanted.contains(&dependency.id()))
        {
            if !self.book.contains(&dependency.id(), reads)? {
                mine.push(Arc::clone(dependency));
            }
        }
        // Without room the peer gets no answer, and delivers it again.
        if self
            .intake
            .has_room(&peer, transaction.wire().bytes().len())
        {
            for dependency in &mine {
                // It is checked in the same batch as the transaction, and a good result is remembered.
                if let Ok(pending) = dependency.check_signatures(&[]) {
                    self.gather(CheckOwner::Nobody, pending.messages(), Some(peer));
                }
            }
            self.take_in(
                Arc::new(transaction),
                Goal::Deliver { peer },
                Some(peer),
                mine,
            );
        }
        Ok(())
    }

    /// Returns whether a transaction concerns this node. It does if it makes, consumes or reads a state of this node, needs its
    /// signature, or is awaited by a flow here. Other deliveries are dropped, so that no peer can fill the disk.
    fn concerns_us(
        &mut self,
        transaction: &SignedTransaction,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        let ours = self.keys.owners(&self.context, reads);
        let concerns = concerns(transaction, &self.context, &|key| ours.holds(key));
        ours.finish()?;
        if concerns || self.flows.expects(&transaction.id()) {
            return Ok(true);
        }
        let wire = transaction.wire();
        for reference in wire.inputs().iter().chain(wire.references()) {
            if let Some(state) = self.book.state(reference, reads)? {
                let facts = self.context.identity.contracts.describe(&state);
                let ours = self.keys.owners(&self.context, reads);
                let relevant =
                    facts.is_ok_and(|facts| vault::is_relevant(&facts, &|key| ours.holds(key)));
                ours.finish()?;
                if relevant {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
