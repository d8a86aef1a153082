//! Connections, session messages, requests and deliveries of peers.

use crate::errors;
use crate::event::Priority;
use crate::integrity::STANDING_WAIT_MS;
use crate::kernel::Kernel;
use crate::message::{DELIVERED_IDS_MAX, PeerMessage};
use crate::peers::links::{EARLY_BYTES_MAX, UNACKED_REFUSALS_MAX};
use crate::port::{Reads, StoreFailure};
use flow::messaging::RequestId;
use flow::{FlowId, SHARE_EXCEEDED_CODE, Service, SessionBody, SessionMessage};
use ledger::{PartyId, Rejection, TxId};
use primitives::Encode;

impl Kernel {
    pub(crate) fn on_peer_up(
        &mut self,
        peer: PartyId,
        epoch: u64,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let now = self.context.now.monotonic;
        self.clock.peer_up(peer);
        self.budgets.forget_backlog(&peer);
        let links = &mut self.links;
        let taken = links.taken.entry(peer).or_default();
        if taken.0 != epoch {
            *taken = (epoch, 0);
        }
        // Messages in flight may be lost.
        self.along.forget_sent();
        links.inbox.peer_up(peer, epoch);
        links.awaited.insert(peer);
        if links.confirmed.contains(&peer) {
            links.outbox.peer_up(peer, now, &mut links.outbox_out);
        } else {
            let until = now.plus_ms(STANDING_WAIT_MS).unwrap_or(now);
            links.held.insert(peer, until);
        }
        links.deliveries.peer_up(peer);
        links.requests.peer_up(peer, now, &mut links.request_out);
        self.intake.peer_up(peer);
        self.send_standing(peer, reads)?;
        self.pump_links(reads)
    }

    /// This node can always be asked by its own flows.
    pub(crate) fn serve_itself(&mut self) {
        let (me, now) = (self.context.my_id, self.context.now.monotonic);
        let links = &mut self.links;
        links.requests.peer_up(me, now, &mut links.request_out);
    }

    pub(crate) fn on_peer_down(&mut self, peer: PartyId) {
        self.clock.peer_down(&peer);
        self.budgets.forget_backlog(&peer);
        self.links.inbox.peer_down(&peer);
        self.links.outbox.peer_down(peer);
        self.links.awaited.remove(&peer);
        self.links.held.remove(&peer);
        self.integrity.met.remove(&peer);
        self.links.deliveries.peer_down(peer);
        self.links.requests.peer_down(peer);
        self.intake.resolutions.peer_down(&peer);
        self.fetches.forget(&peer);
        self.forget_notarisations_of(peer);
    }

    pub(crate) fn send_session(&mut self, peer: PartyId, message: SessionMessage) {
        if peer == self.context.my_id {
            self.flows.on_session(peer, message, &mut self.context);
            return;
        }
        let error = match &message.body {
            SessionBody::End { error, .. } => error.as_ref(),
            _ => None,
        };
        if error.is_some_and(|error| error.code == SHARE_EXCEEDED_CODE) {
            self.budgets.excess(peer, self.context.now.monotonic);
        }
        if error.is_some() && self.links.outbox.pending(&peer) >= UNACKED_REFUSALS_MAX {
            return;
        }
        let now = self.context.now.monotonic;
        let links = &mut self.links;
        links.unacked += 1;
        let bytes = message.to_bytes();
        if !links.confirmed.contains(&peer) {
            links.unconfirmed.entry(peer).or_default().push(&bytes);
        }
        links.outbox.push(peer, bytes, now, &mut links.outbox_out);
    }

    pub(crate) fn on_session(&mut self, peer: PartyId, seq: u64, body: Vec<u8>) {
        let (_, taken) = self.links.taken.get(&peer).copied().unwrap_or_default();
        if seq > taken.saturating_add(1) && body.len() > EARLY_BYTES_MAX {
            return;
        }
        self.links
            .inbox
            .message(peer, seq, body, &mut self.links.inbox_out);
    }

    pub(crate) fn on_session_ack(&mut self, peer: PartyId, upto: u64) {
        let now = self.context.now.monotonic;
        let links = &mut self.links;
        let before = links.outbox.pending(&peer);
        let known = links.outbox.ack(peer, upto, now, &mut links.outbox_out);
        let acked = before.saturating_sub(links.outbox.pending(&peer));
        links.unacked = links.unacked.saturating_sub(acked);
        if !known {
            self.context.figures.messages_bad += 1;
            let text = format!(
                "it acknowledges session message {upto}, which was never sent: this node's data is older than the peer's"
            );
            self.context.complain(errors::STALE_DATA.code, peer, &text);
        }
    }

    /// Asks a service of another node (or of this one).
    pub(crate) fn ask(
        &mut self,
        party: PartyId,
        flow: FlowId,
        effect: u32,
        service: Service,
        body: Vec<u8>,
    ) {
        let id = RequestId { flow, effect };
        let now = self.context.now.monotonic;
        let links = &mut self.links;
        links
            .requests
            .ask(id, party, service, body, now, &mut links.request_out);
    }

    /// Notes an answer. Returns whether a flow waits for it.
    pub(crate) fn request_answered(&mut self, id: &RequestId, peer: &PartyId) -> bool {
        let now = self.context.now.monotonic;
        let links = &mut self.links;
        links
            .requests
            .answered(id, peer, now, &mut links.request_out)
    }

    pub(crate) fn request_must_wait(&mut self, id: &RequestId, peer: &PartyId, eta_ms: u64) {
        self.links
            .requests
            .wait(id, peer, eta_ms, self.context.now.monotonic);
    }

    pub(crate) fn forget_request(&mut self, flow: FlowId, effect: u32) {
        let now = self.context.now.monotonic;
        let links = &mut self.links;
        let id = RequestId { flow, effect };
        links.requests.cancel(&id, now, &mut links.request_out);
    }

    pub(crate) fn forget_requests_of(&mut self, flow: FlowId) {
        let now = self.context.now.monotonic;
        let links = &mut self.links;
        links
            .requests
            .cancel_flow(flow, now, &mut links.request_out);
    }

    /// Owes a recorded transaction to participants, each once.
    pub(crate) fn owe(&mut self, id: TxId, bytes: usize, participants: &[PartyId]) {
        let links = &mut self.links;
        for peer in participants {
            if *peer == self.context.my_id || links.unanswered.owes(peer, &id) {
                continue;
            }
            links.sizes.insert(id, bytes);
            links
                .deliveries
                .push(*peer, id, bytes, &mut links.delivery_out);
            links.unanswered.add(*peer, id);
            links.lag.owe(*peer, self.context.now.monotonic);
        }
    }

    /// A transaction delivered by a peer is recorded here: say so once that is durable.
    pub(crate) fn answer_delivery(&mut self, peer: PartyId, id: TxId) {
        self.links.answers.entry(peer).or_default().push(id);
    }

    pub(crate) fn on_delivered(&mut self, peer: PartyId, ids: &[TxId]) {
        for id in ids {
            let links = &mut self.links;
            let before = links.delivery_out.len();
            links
                .deliveries
                .delivered(peer, &[*id], &mut links.delivery_out);
            if links.delivery_out.len() > before {
                self.owes_no_more(peer, id, false);
            }
        }
    }

    pub(crate) fn on_refused(&mut self, peer: PartyId, id: TxId, rejection: Rejection) {
        let links = &mut self.links;
        let before = links.delivery_out.len();
        let why = rejection.clone();
        links
            .deliveries
            .refused(peer, id, rejection, &mut links.delivery_out);
        if links.delivery_out.len() > before {
            let batch = &mut self.context.round.batch;
            links.unanswered.refusals.add(id, peer, &why, batch);
            self.context.figures.deliveries_refused += 1;
            self.owes_no_more(peer, &id, true);
        }
    }

    fn owes_no_more(&mut self, peer: PartyId, id: &TxId, refused: bool) {
        if refused {
            self.flows.on_refused(id);
        }
        self.links.lag.answered(&peer, self.context.now.monotonic);
        self.delivery_waits.answered(peer, *id);
        if self.links.unanswered.answered(&peer, id) {
            self.flows
                .on_all_delivered(id, &self.links.unanswered, &mut self.context);
        }
    }

    pub(crate) fn links_on_time(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let now = self.context.now.monotonic;
        let links = &mut self.links;
        let late = links.held.iter().filter(|(_, until)| **until <= now);
        let late: Vec<PartyId> = late.map(|(peer, _)| *peer).collect();
        for peer in late {
            links.offered.insert(peer);
            links.release(peer, now);
        }
        links.outbox.timer(now, &mut links.outbox_out);
        links.deliveries.timer(now);
        links.requests.timer(now, &mut links.request_out);
        self.read_back(reads)
    }

    /// Adds the outgoing messages at the end of a round.
    pub(crate) fn links_end_round(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let now = self.context.now.monotonic;
        let links = &mut self.links;
        links.inbox.end_of_round(&mut links.inbox_out);
        links.deliveries.end_of_round(now, &mut links.delivery_out);
        self.pump_links(reads)?;
        for (peer, ids) in std::mem::take(&mut self.links.answers) {
            for ids in ids.chunks(DELIVERED_IDS_MAX) {
                let ids = ids.to_vec();
                self.context
                    .send(peer, Priority::Normal, PeerMessage::Delivered { ids });
            }
        }
        Ok(())
    }
}
