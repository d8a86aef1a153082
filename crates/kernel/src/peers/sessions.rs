//! Connections, session messages, requests and deliveries of peers.

use flow::messaging::RequestId;
use flow::{FlowId, Service, SessionBody, SessionMessage};
use ledger::{PartyId, Rejection, SignedTransaction, TxId};
use primitives::{Encode, Monotonic};
use std::sync::Arc;

use crate::command::FlowsCommand;
use crate::context::Context;
use crate::errors;
use crate::event::Priority;
use crate::integrity::STANDING_WAIT_MS;
use crate::message::{DELIVERED_IDS_MAX, PeerMessage};
use crate::peers::links::{EARLY_BYTES_MAX, Links, UNACKED_REFUSALS_MAX};

impl Links {
    /// Handles a new connection to a peer. Numbered messages wait until the peer has sent its standing.
    pub(crate) fn peer_up(&mut self, peer: PartyId, epoch: u64, now: Monotonic) {
        let taken = self.taken.entry(peer).or_default();
        if taken.0 != epoch {
            *taken = (epoch, 0);
        }
        // Messages in flight may be lost.
        self.along.forget_sent();
        self.inbox.peer_up(peer, epoch);
        self.awaited.insert(peer);
        if self.confirmed.contains(&peer) {
            self.outbox.peer_up(peer, now, &mut self.outbox_out);
        } else {
            // A time past the end of time is clipped to now: the peer is then not waited for.
            let until = now.plus_ms(STANDING_WAIT_MS).unwrap_or(now);
            self.held.insert(peer, until);
        }
        self.deliveries.peer_up(peer);
        self.requests.peer_up(peer, now, &mut self.request_out);
        assert!(
            self.awaited.contains(&peer),
            "the standing of {peer}, which has connected, is not awaited"
        );
    }

    /// Lets the flows of this node ask this node itself, at any time.
    pub(crate) fn serve_itself(&mut self, context: &Context) {
        let (me, now) = (context.my_id, context.now.monotonic);
        self.requests.peer_up(me, now, &mut self.request_out);
    }

    /// Handles the end of a connection.
    pub(crate) fn peer_down(&mut self, peer: PartyId, now: Monotonic) {
        // It repeats them.
        self.untaken.take(&peer);
        self.inbox.peer_down(&peer);
        self.outbox.peer_down(peer);
        self.awaited.remove(&peer);
        self.held.remove(&peer);
        self.deliveries.peer_down(peer);
        self.requests.peer_down(peer, now, &mut self.request_out);
    }

    /// Numbers a session message to a peer. Refusals are dropped while the peer leaves too much unacknowledged.
    pub(crate) fn send_session(
        &mut self,
        peer: PartyId,
        message: &SessionMessage,
        is_refusal: bool,
        now: Monotonic,
    ) {
        if is_refusal && self.outbox.pending(&peer) >= UNACKED_REFUSALS_MAX {
            return;
        }
        let bytes = message.to_bytes();
        if !self.confirmed.contains(&peer) {
            self.unconfirmed.entry(peer).or_default().push(&bytes);
        }
        self.push_numbered(peer, bytes, message.to_initiator, now);
        assert!(
            self.outbox.pending(&peer) > 0,
            "a session message to {peer} is not pending"
        );
    }

    /// Adds a message to a peer's numbered stream, and counts it until it is acknowledged.
    pub(super) fn push_numbered(
        &mut self,
        peer: PartyId,
        message: Vec<u8>,
        is_answer: bool,
        now: Monotonic,
    ) {
        let bytes = message.len();
        self.unacked += 1;
        self.outbox.push(peer, message, now, &mut self.outbox_out);
        if is_answer {
            let seq = self.outbox.last(&peer);
            self.unacked_answers.add(peer, seq, bytes);
        }
    }

    /// Passes a session message of a peer to its flow. While the peer leaves too many answers unacknowledged, its new sessions are
    /// refused, and a message on a session that it has opened ends that session for both sides. Its messages are still acknowledged: two
    /// nodes that wait for each other's acknowledgements would wait forever.
    pub(super) fn pass_session(
        &mut self,
        peer: PartyId,
        mut message: SessionMessage,
        context: &mut Context,
    ) {
        let opens = matches!(message.body, SessionBody::Init { .. });
        let wants_answer = opens || matches!(message.body, SessionBody::Data { .. });
        if wants_answer
            && !message.to_initiator
            && let Err(error) = self.unacked_answers.check(&peer)
        {
            let reason = error.to_rejection();
            let refusal = SessionMessage::refusal(message.session, reason.clone());
            self.number_session(peer, &refusal, context);
            if opens {
                return;
            }
            // To the flow, the peer has ended its side with this error.
            message.body = SessionBody::End {
                index: 0,
                error: Some(reason),
            };
        }
        context.command(FlowsCommand::Session { peer, message });
    }

    /// Takes a session message of a peer, in its turn.
    pub(crate) fn on_session(&mut self, peer: PartyId, seq: u64, body: Vec<u8>) {
        let (_, taken) = self.taken.get(&peer).copied().unwrap_or_default();
        // The largest number has no successor. A message after it is as early as any other.
        if seq > taken.saturating_add(1) && body.len() > EARLY_BYTES_MAX {
            return;
        }
        self.inbox.message(peer, seq, body, &mut self.inbox_out);
    }

    /// Takes the session messages of a peer that came before any could be taken.
    pub(super) fn take_untaken(&mut self, peer: PartyId) {
        for (seq, body) in self.untaken.take(&peer) {
            self.on_session(peer, seq, body);
        }
    }

    /// Takes all session messages that came before any could be taken.
    pub(crate) fn take_all_untaken(&mut self) {
        while let Some(peer) = self.untaken.first() {
            self.take_untaken(peer);
        }
    }

    /// Handles the acknowledgement of session messages.
    pub(super) fn on_ack(&mut self, peer: PartyId, upto: u64, context: &mut Context) {
        let now = context.now.monotonic;
        let before = self.outbox.pending(&peer);
        let known = self.outbox.ack(peer, upto, now, &mut self.outbox_out);
        if known {
            self.unacked_answers.acked(&peer, upto);
        }
        let after = self.outbox.pending(&peer);
        // The sum is for the metrics alone, so a slip of it is clipped in production.
        let acked = before.saturating_sub(after);
        debug_assert!(
            after <= before && acked <= self.unacked,
            "{before} messages to {peer} were pending, {after} are, and {} are to all peers",
            self.unacked
        );
        self.unacked = self.unacked.saturating_sub(acked);
        if !known {
            context.figures.messages_bad += 1;
            let text = format!(
                "it acknowledges session message {upto}, which was never sent: this node's data is older than the peer's"
            );
            context.complain(errors::STALE_DATA.code, peer, &text);
        }
    }

    /// Asks a service of another node, or of this one.
    pub(crate) fn ask(
        &mut self,
        party: PartyId,
        id: RequestId,
        service: Service,
        body: Vec<u8>,
        now: Monotonic,
    ) {
        let out = &mut self.request_out;
        self.requests.ask(id, party, service, body, now, out);
    }

    /// Notes an answer. Returns the party that was asked, if the request waited for an answer of this peer.
    pub(super) fn request_answered(
        &mut self,
        id: &RequestId,
        peer: &PartyId,
        now: Monotonic,
    ) -> Option<PartyId> {
        let out = &mut self.request_out;
        self.requests.answered(id, peer, now, out)
    }

    /// Puts a request off because the peer has no time for it now.
    pub(super) fn request_must_wait(
        &mut self,
        id: &RequestId,
        peer: &PartyId,
        eta_ms: u64,
        now: Monotonic,
    ) {
        self.requests.wait(id, peer, eta_ms, now);
    }

    /// Gives a request up.
    pub(super) fn forget_request(&mut self, id: &RequestId, now: Monotonic) {
        self.requests.cancel(id, now, &mut self.request_out);
    }

    /// Gives all requests of a flow up.
    pub(crate) fn forget_requests_of(&mut self, flow: FlowId, now: Monotonic) {
        let out = &mut self.request_out;
        self.requests.cancel_flow(flow, now, out);
    }

    /// Owes a recorded transaction to participants, each once.
    pub(crate) fn owe(
        &mut self,
        id: TxId,
        bytes: usize,
        participants: &[PartyId],
        context: &Context,
    ) {
        for peer in participants {
            if *peer == context.my_id || self.unanswered.owes(peer, &id) {
                continue;
            }
            self.sizes.insert(id, bytes);
            self.deliveries
                .push(*peer, id, bytes, &mut self.delivery_out);
            self.unanswered.add(*peer, id);
            self.lag.owe(*peer, context.now.monotonic);
        }
    }

    /// Keeps a recorded transaction that no other node gets for now. It is sent along with the delivery of one that depends on it.
    pub(super) fn keep_unshared(&mut self, transaction: &Arc<SignedTransaction>) {
        self.along.keep(transaction);
    }

    /// Notes that a peer has fetched a transaction.
    pub(super) fn note_fetched(&mut self, peer: PartyId, id: TxId) {
        self.along.note_fetched(peer, id);
    }

    /// Notes that a transaction delivered by a peer is recorded. The peer is told once that is durable.
    pub(super) fn answer_delivery(&mut self, peer: PartyId, id: TxId) {
        self.answers.entry(peer).or_default().push(id);
    }

    /// Handles a peer's answer that it has recorded transactions.
    pub(super) fn on_delivered(&mut self, peer: PartyId, ids: &[TxId], context: &mut Context) {
        for id in ids {
            let before = self.delivery_out.len();
            self.deliveries
                .delivered(peer, &[*id], &mut self.delivery_out);
            if self.delivery_out.len() > before {
                self.owes_no_more(peer, id, context);
            }
        }
    }

    /// Handles a peer's refusal of a transaction.
    pub(crate) fn on_refused(
        &mut self,
        peer: PartyId,
        id: TxId,
        rejection: Rejection,
        context: &mut Context,
    ) {
        let before = self.delivery_out.len();
        let why = rejection.clone();
        self.deliveries
            .refused(peer, id, rejection, &mut self.delivery_out);
        if self.delivery_out.len() > before {
            let batch = &mut context.round.batch;
            self.unanswered.refusals.add(id, peer, &why, batch);
            context.figures.deliveries_refused += 1;
            context.command(FlowsCommand::NoteRefusal { id });
            self.owes_no_more(peer, &id, context);
        }
    }

    fn owes_no_more(&mut self, peer: PartyId, id: &TxId, context: &mut Context) {
        self.lag.answered(&peer, context.now.monotonic);
        self.waits.answered(peer, *id);
        if self.unanswered.answered(&peer, id) {
            context.command(FlowsCommand::AllAnswered { id: *id });
        }
        assert!(
            !self.unanswered.owes(&peer, id),
            "{peer} has answered transaction {id} and still owes an answer"
        );
    }

    /// Sends and repeats messages whose time has come.
    pub(crate) fn on_time(&mut self, now: Monotonic) {
        let late = self.held.iter().filter(|(_, until)| **until <= now);
        let late: Vec<PartyId> = late.map(|(peer, _)| *peer).collect();
        for peer in late {
            self.offered.insert(peer);
            self.release(peer, now);
        }
        self.outbox.timer(now, &mut self.outbox_out);
        self.deliveries.timer(now);
        self.requests.timer(now, &mut self.request_out);
    }

    /// Ends the round of the state machines. Their last messages are carried out after this.
    pub(crate) fn end_machines(&mut self, now: Monotonic) {
        self.inbox.end_of_round(&mut self.inbox_out);
        self.deliveries.end_of_round(now, &mut self.delivery_out);
    }

    /// Tells peers which of their deliveries this round has recorded.
    pub(crate) fn send_answers(&mut self, context: &mut Context) {
        for (peer, ids) in std::mem::take(&mut self.answers) {
            for ids in ids.chunks(DELIVERED_IDS_MAX) {
                let ids = ids.to_vec();
                context.send(peer, Priority::Normal, PeerMessage::Delivered { ids });
            }
        }
    }
}
