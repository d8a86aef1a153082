//! The links to the peers: session streams, requests and deliveries, as the kernel sees them.
//!
//! The machines themselves are in the crate `flow`; their actions become rows and messages in [`crate::pump`].

use std::collections::{BTreeMap, HashMap, VecDeque};

use flow::messaging::{
    Deliveries, DeliveryAction, Inbox, InboxAction, Outbox, OutboxAction, RequestAction, RequestId,
    Requests,
};
use flow::{FlowId, Service, SessionBody, SessionMessage};
use ledger::{PartyId, Rejection, TxId};
use primitives::{Decode, Decoder, Encode, Hash, Monotonic};

use crate::ahead::Ahead;
use crate::errors;
use crate::event::Priority;
use crate::kernel::Kernel;
use crate::message::{DELIVERED_IDS_MAX, PeerMessage};
use crate::options::KernelOptions;
use crate::owed::Owed;
use crate::pages::{after, row_page};
use crate::port::{Reads, StoreFailure, Table};
use crate::pump::{ReadBack, decode_delivery};
use crate::refusals::Refusals;
use crate::rows::{META_INBOUND, prefix_end, seq_of};

/// A session message that comes before its turn is kept only up to this size; a larger one is sent again.
pub const EARLY_BYTES_MAX: usize = 64 << 10;
/// To a peer that has so many session messages unacknowledged, refusals of sessions are not sent: a peer that opens sessions
/// and acknowledges nothing must not fill the disk.
pub const UNACKED_REFUSALS_MAX: u64 = 100_000;

/// See the module.
pub struct Links {
    pub(crate) outbox: Outbox,
    pub(crate) inbox: Inbox,
    pub(crate) deliveries: Deliveries,
    pub(crate) requests: Requests,
    pub(crate) outbox_out: Vec<OutboxAction>,
    pub(crate) inbox_out: Vec<InboxAction>,
    pub(crate) delivery_out: Vec<DeliveryAction>,
    pub(crate) request_out: Vec<RequestAction>,
    /// Who has not answered for a transaction.
    pub(crate) owed: Owed,
    /// How far those who answer are behind.
    pub(crate) ahead: Ahead,
    /// Sizes of the transactions owed since the machines' actions were last worked off.
    pub(crate) sizes: HashMap<TxId, usize>,
    /// Answers to deliveries, sent once the round is durable.
    answers: BTreeMap<PartyId, Vec<TxId>>,
    /// What is read back once the commit of this number is durable; one for each peer and machine at most.
    pub(crate) read_backs: VecDeque<(u64, ReadBack)>,
    /// The epoch of each peer, and what was taken of its session messages: the inbox's cursors.
    taken: BTreeMap<PartyId, (u64, u64)>,
    /// Session messages not acknowledged, of all peers.
    unacked: u64,
}

impl Links {
    /// Reads cursors and pending rows back after a start.
    pub fn open(options: &KernelOptions, reads: &dyn Reads) -> Result<Self, StoreFailure> {
        let mut links = Self {
            outbox: Outbox::new(options.outbox),
            inbox: Inbox::new(),
            deliveries: Deliveries::new(options.deliveries),
            requests: Requests::new(options.requests),
            outbox_out: Vec::new(),
            inbox_out: Vec::new(),
            delivery_out: Vec::new(),
            request_out: Vec::new(),
            owed: Owed::new(Refusals::open(reads)?),
            ahead: Ahead::default(),
            sizes: HashMap::new(),
            answers: BTreeMap::new(),
            read_backs: VecDeque::new(),
            taken: BTreeMap::new(),
            unacked: 0,
        };
        let to = prefix_end(META_INBOUND);
        // One row a peer, so bounded by the network map.
        for (key, value) in reads.scan(Table::Meta, META_INBOUND, to.as_deref(), usize::MAX)? {
            let peer = key.get(META_INBOUND.len()..).and_then(peer_of);
            if let (Some(peer), Some((epoch, upto))) = (peer, decode_cursor(&value)) {
                links.inbox.load(peer, epoch, upto);
                links.taken.insert(peer, (epoch, upto));
            }
        }
        for (peer, first, last) in ranges(reads, Table::Outbox, |_, _| ())? {
            links.outbox.load(peer, first, last);
            links.unacked += links.outbox.pending(&peer);
        }
        let owed = &mut links.owed;
        let pending = ranges(reads, Table::Deliveries, |peer, value| {
            if let Some((id, _)) = decode_delivery(value) {
                owed.add(peer, id);
            }
        })?;
        for (peer, first, last) in pending {
            links.deliveries.load(peer, first, last);
        }
        Ok(links)
    }

    /// Session messages not acknowledged, of all peers.
    pub fn outbox_pending(&self) -> u64 {
        self.unacked
    }

    /// Requests not answered.
    pub fn requests_outstanding(&self) -> u64 {
        self.requests.outstanding() as u64
    }

    /// When something has to be sent again.
    pub fn next_wakeup(&self) -> Option<Monotonic> {
        [
            self.outbox.next_deadline(),
            self.deliveries.next_deadline(),
            self.requests.next_deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Deliveries that peers which answer have not answered yet.
    pub(crate) fn ahead_rows(&self, now: Monotonic) -> usize {
        self.ahead.rows(now, |peer| self.deliveries.aside(peer))
    }

    /// The inbox hands out another message of the peer.
    pub(crate) fn took(&mut self, peer: PartyId) {
        self.taken.entry(peer).or_default().1 += 1;
    }
}

impl Kernel {
    pub(crate) fn on_peer_up(
        &mut self,
        peer: PartyId,
        epoch: u64,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let now = self.now.monotonic;
        self.clock_watch.peer_up(peer);
        self.budgets.forget_backlog(&peer);
        let links = &mut self.links;
        let taken = links.taken.entry(peer).or_default();
        if taken.0 != epoch {
            *taken = (epoch, 0);
        }
        // What was on its way may be lost.
        self.sent_along.clear();
        links.inbox.peer_up(peer, epoch);
        links.outbox.peer_up(peer, now, &mut links.outbox_out);
        links.deliveries.peer_up(peer);
        links.requests.peer_up(peer, now, &mut links.request_out);
        self.intake.resolutions.peer_up(peer);
        self.intake.files.peer_up(&peer);
        self.pump_links(reads)
    }

    /// This node can always be asked by its own flows.
    pub(crate) fn serve_itself(&mut self) {
        let (me, now) = (self.my_id, self.now.monotonic);
        let links = &mut self.links;
        links.requests.peer_up(me, now, &mut links.request_out);
    }

    pub(crate) fn on_peer_down(&mut self, peer: PartyId) {
        self.clock_watch.peer_down(&peer);
        self.budgets.forget_backlog(&peer);
        self.links.inbox.peer_down(&peer);
        self.links.outbox.peer_down(peer);
        self.links.deliveries.peer_down(peer);
        self.links.requests.peer_down(peer);
        self.intake.resolutions.peer_down(&peer);
        self.fetches.forget(&peer);
        self.forget_notarisations_of(peer);
    }

    pub(crate) fn send_session(&mut self, peer: PartyId, message: SessionMessage) {
        if peer == self.my_id {
            self.engine.on_session(peer, message, &mut self.engine_out);
            self.take_engine_actions();
            return;
        }
        let refuses = matches!(message.body, SessionBody::End { error: Some(_), .. });
        if refuses && self.links.outbox.pending(&peer) >= UNACKED_REFUSALS_MAX {
            return;
        }
        let now = self.now.monotonic;
        let links = &mut self.links;
        links.unacked += 1;
        links
            .outbox
            .push(peer, message.to_bytes(), now, &mut links.outbox_out);
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
        let now = self.now.monotonic;
        let links = &mut self.links;
        let before = links.outbox.pending(&peer);
        let known = links.outbox.ack(peer, upto, now, &mut links.outbox_out);
        let acked = before.saturating_sub(links.outbox.pending(&peer));
        links.unacked = links.unacked.saturating_sub(acked);
        if !known {
            self.figures.messages_bad += 1;
            let text = format!(
                "it acknowledges session message {upto}, which was never sent: this node's data is older than the peer's"
            );
            self.complain(errors::STALE_DATA.code, peer, &text);
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
        let now = self.now.monotonic;
        let links = &mut self.links;
        links
            .requests
            .ask(id, party, service, body, now, &mut links.request_out);
    }

    /// An answer came; whether anybody waits for it.
    pub(crate) fn request_answered(&mut self, id: &RequestId, peer: &PartyId) -> bool {
        let now = self.now.monotonic;
        let links = &mut self.links;
        links
            .requests
            .answered(id, peer, now, &mut links.request_out)
    }

    pub(crate) fn request_must_wait(&mut self, id: &RequestId, peer: &PartyId, eta_ms: u64) {
        self.links
            .requests
            .wait(id, peer, eta_ms, self.now.monotonic);
    }

    pub(crate) fn forget_request(&mut self, flow: FlowId, effect: u32) {
        let now = self.now.monotonic;
        let links = &mut self.links;
        let id = RequestId { flow, effect };
        links.requests.cancel(&id, now, &mut links.request_out);
    }

    pub(crate) fn forget_requests_of(&mut self, flow: FlowId) {
        let now = self.now.monotonic;
        let links = &mut self.links;
        links
            .requests
            .cancel_flow(flow, now, &mut links.request_out);
    }

    /// Owes a recorded transaction to participants, each once.
    pub(crate) fn owe(&mut self, id: TxId, bytes: usize, participants: &[PartyId]) {
        let links = &mut self.links;
        for peer in participants {
            if *peer == self.my_id || links.owed.owes(peer, &id) {
                continue;
            }
            links.sizes.insert(id, bytes);
            links
                .deliveries
                .push(*peer, id, bytes, &mut links.delivery_out);
            links.owed.add(*peer, id);
            links.ahead.owe(*peer, self.now.monotonic);
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
            let batch = &mut self.round.batch;
            links.owed.refusals.add(id, peer, &why, batch);
            self.figures.deliveries_refused += 1;
            self.owes_no_more(peer, &id, true);
        }
    }

    fn owes_no_more(&mut self, peer: PartyId, id: &TxId, refused: bool) {
        if refused {
            self.clients.refused(id);
        }
        self.links.ahead.answered(&peer, self.now.monotonic);
        self.delivery_waits.answered(peer, *id);
        if self.links.owed.answered(&peer, id) {
            self.on_all_delivered(id);
        }
    }

    pub(crate) fn links_on_time(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let now = self.now.monotonic;
        let links = &mut self.links;
        links.outbox.timer(now, &mut links.outbox_out);
        links.deliveries.timer(now);
        links.requests.timer(now, &mut links.request_out);
        self.read_back(reads)
    }

    /// What is left to say at the end of a round.
    pub(crate) fn links_end_round(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let now = self.now.monotonic;
        let links = &mut self.links;
        links.inbox.end_of_round(&mut links.inbox_out);
        links.deliveries.end_of_round(now, &mut links.delivery_out);
        self.pump_links(reads)?;
        for (peer, ids) in std::mem::take(&mut self.links.answers) {
            for ids in ids.chunks(DELIVERED_IDS_MAX) {
                let ids = ids.to_vec();
                self.send(peer, Priority::Normal, PeerMessage::Delivered { ids });
            }
        }
        Ok(())
    }
}

/// The first and last number of each peer's rows, every row shown to `each` on the way.
fn ranges(
    reads: &dyn Reads,
    table: Table,
    mut each: impl FnMut(PartyId, &[u8]),
) -> Result<Vec<(PartyId, u64, u64)>, StoreFailure> {
    /// Rows and bytes read at once.
    const PAGE: (usize, usize) = (10_000, 4 << 20);
    let mut found: BTreeMap<PartyId, (u64, u64)> = BTreeMap::new();
    let mut from = Vec::new();
    loop {
        let page = row_page(reads, table, from, None, PAGE.0, PAGE.1)?;
        for (key, value) in &page.rows {
            let (Some(peer), Some(seq)) = (key.get(..32).and_then(peer_of), seq_of(key)) else {
                continue;
            };
            each(peer, value);
            found.entry(peer).or_insert((seq, seq)).1 = seq;
        }
        match page.rows.last() {
            Some((last, _)) if page.more => from = after(last),
            _ => break,
        }
    }
    Ok(found
        .into_iter()
        .map(|(peer, (first, last))| (peer, first, last))
        .collect())
}

fn peer_of(bytes: &[u8]) -> Option<PartyId> {
    Some(PartyId::from_hash(Hash::from_bytes(bytes.try_into().ok()?)))
}

fn decode_cursor(value: &[u8]) -> Option<(u64, u64)> {
    let mut d = Decoder::new(value);
    d.expect_array(2).ok()?;
    Some((u64::decode(&mut d).ok()?, u64::decode(&mut d).ok()?))
}
