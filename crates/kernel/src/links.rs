//! The links to the peers: session streams, requests and deliveries, as the kernel sees them.
//!
//! The machines themselves are in the crate `flow`; here their actions become rows and messages.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use flow::messaging::{
    Deliveries, DeliveryAction, Inbox, InboxAction, Outbox, OutboxAction, PendingDelivery,
    RequestAction, RequestId, Requests,
};
use flow::{FlowId, Service, SessionMessage};
use ledger::{PartyId, Rejection, TxId};
use primitives::{Decode, Decoder, Encode, Encoder, Hash, Timestamp};

use crate::event::Priority;
use crate::kernel::Kernel;
use crate::message::PeerMessage;
use crate::options::KernelOptions;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{META_INBOUND, meta_key, peer_seq_key, prefix_end, seq_of};

/// Transactions of which is known who has not answered for them; of more, waiting clients are not told "delivered".
pub const OWED_TRACKED_MAX: usize = 200_000;

/// Rows to be read back once a commit is durable.
#[derive(Clone, Copy, Debug)]
enum ReadBack {
    Outbox {
        peer: PartyId,
        after: u64,
        limit: usize,
    },
    Deliveries {
        peer: PartyId,
        after: u64,
        limit: usize,
    },
}

/// See the module.
pub struct Links {
    outbox: Outbox,
    inbox: Inbox,
    deliveries: Deliveries,
    requests: Requests,
    outbox_out: Vec<OutboxAction>,
    inbox_out: Vec<InboxAction>,
    delivery_out: Vec<DeliveryAction>,
    request_out: Vec<RequestAction>,
    /// Who has not answered for a transaction.
    owed: HashMap<TxId, BTreeSet<PartyId>>,
    owed_rows: u64,
    /// Sizes of the transactions owed since the machines' actions were last worked off.
    sizes: HashMap<TxId, usize>,
    /// Answers to deliveries, sent once the round is durable.
    answers: BTreeMap<PartyId, Vec<TxId>>,
    read_backs: VecDeque<(u64, ReadBack)>,
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
            owed: HashMap::new(),
            owed_rows: 0,
            sizes: HashMap::new(),
            answers: BTreeMap::new(),
            read_backs: VecDeque::new(),
        };
        for (key, value) in scan_all(reads, Table::Meta, META_INBOUND)? {
            if let (Some(peer), Some((epoch, upto))) = (
                peer_of(key.get(META_INBOUND.len()..).unwrap_or_default()),
                decode_cursor(&value),
            ) {
                links.inbox.load(peer, epoch, upto);
            }
        }
        for (peer, first, last, _) in ranges(reads, Table::Outbox, |_, _| ())? {
            links.outbox.load(peer, first, last);
        }
        let owed = &mut links.owed;
        let pending = ranges(reads, Table::Deliveries, |peer, value| {
            if owed.len() < OWED_TRACKED_MAX
                && let Some((id, _)) = decode_delivery(value)
            {
                owed.entry(id).or_default().insert(peer);
            }
        })?;
        for (peer, first, last, rows) in pending {
            links.deliveries.load(peer, first, last);
            links.owed_rows += rows;
        }
        Ok(links)
    }

    /// Whether somebody has not answered for this transaction, as far as that is tracked.
    pub fn is_owed(&self, id: &TxId) -> bool {
        self.owed.contains_key(id)
    }

    /// Deliveries not answered, of all peers.
    pub fn deliveries_pending(&self) -> u64 {
        self.owed_rows
    }

    /// Session messages that a peer has not acknowledged.
    pub fn outbox_pending(&self, peer: &PartyId) -> u64 {
        self.outbox.pending(peer)
    }

    /// Requests not answered.
    pub fn requests_outstanding(&self) -> u64 {
        self.requests.outstanding() as u64
    }

    /// When something has to be sent again.
    pub fn next_wakeup(&self) -> Option<Timestamp> {
        [
            self.outbox.next_deadline(),
            self.deliveries.next_deadline(),
            self.requests.next_deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

impl Kernel {
    pub(crate) fn on_peer_up(
        &mut self,
        peer: PartyId,
        epoch: u64,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let now = self.now;
        let links = &mut self.links;
        links.inbox.peer_up(peer, epoch);
        links.outbox.peer_up(peer, now, &mut links.outbox_out);
        links.deliveries.peer_up(peer);
        links.requests.peer_up(peer, now, &mut links.request_out);
        self.pump_links(reads)
    }

    pub(crate) fn on_peer_down(&mut self, peer: PartyId) {
        self.links.inbox.peer_down(&peer);
        self.links.outbox.peer_down(peer);
        self.links.deliveries.peer_down(peer);
        self.links.requests.peer_down(peer);
    }

    pub(crate) fn send_session(&mut self, peer: PartyId, message: SessionMessage) {
        if peer == self.my_id {
            self.engine.on_session(peer, message, &mut self.engine_out);
            self.take_engine_actions();
            return;
        }
        let now = self.now;
        let links = &mut self.links;
        links
            .outbox
            .push(peer, message.to_bytes(), now, &mut links.outbox_out);
    }

    pub(crate) fn on_session(&mut self, peer: PartyId, seq: u64, body: Vec<u8>) {
        self.links
            .inbox
            .message(peer, seq, body, &mut self.links.inbox_out);
    }

    pub(crate) fn on_session_ack(&mut self, peer: PartyId, upto: u64) {
        let now = self.now;
        let links = &mut self.links;
        if !links.outbox.ack(peer, upto, now, &mut links.outbox_out) {
            let text = format!(
                "peer {peer} acknowledges session message {upto}, which was never sent: this node's data is older than the peer's"
            );
            self.log(true, "node.stale_data", text);
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
        if party == self.my_id {
            let service = service as u8;
            self.send(
                party,
                Priority::Normal,
                PeerMessage::Request { id, service, body },
            );
            return;
        }
        let now = self.now;
        let links = &mut self.links;
        links
            .requests
            .ask(id, party, service, body, now, &mut links.request_out);
    }

    /// An answer came; whether anybody waits for it.
    pub(crate) fn request_answered(&mut self, id: &RequestId, peer: &PartyId) -> bool {
        if *peer == self.my_id {
            return true;
        }
        let now = self.now;
        let links = &mut self.links;
        links
            .requests
            .answered(id, peer, now, &mut links.request_out)
    }

    pub(crate) fn request_must_wait(&mut self, id: &RequestId, peer: &PartyId, eta_ms: u64) {
        self.links.requests.wait(id, peer, eta_ms, self.now);
    }

    pub(crate) fn forget_request(&mut self, flow: FlowId, effect: u32) {
        let now = self.now;
        let links = &mut self.links;
        links
            .requests
            .cancel(&RequestId { flow, effect }, now, &mut links.request_out);
    }

    pub(crate) fn forget_requests_of(&mut self, flow: FlowId) {
        let now = self.now;
        let links = &mut self.links;
        links
            .requests
            .cancel_flow(flow, now, &mut links.request_out);
    }

    /// Owes a recorded transaction to its participants.
    pub(crate) fn owe(&mut self, id: TxId, bytes: usize, participants: &[PartyId]) {
        let links = &mut self.links;
        links.sizes.insert(id, bytes);
        for peer in participants {
            if *peer == self.my_id {
                continue;
            }
            links
                .deliveries
                .push(*peer, id, bytes, &mut links.delivery_out);
            links.owed_rows += 1;
            if links.owed.len() < OWED_TRACKED_MAX || links.owed.contains_key(&id) {
                links.owed.entry(id).or_default().insert(*peer);
            }
        }
    }

    /// A transaction delivered by a peer is recorded here: say so once that is durable.
    pub(crate) fn answer_delivery(&mut self, peer: PartyId, id: TxId) {
        self.links.answers.entry(peer).or_default().push(id);
    }

    pub(crate) fn on_delivered(&mut self, peer: PartyId, ids: &[TxId]) {
        let links = &mut self.links;
        links
            .deliveries
            .delivered(peer, ids, &mut links.delivery_out);
        for id in ids {
            self.owes_no_more(peer, id, false);
        }
    }

    pub(crate) fn on_refused(&mut self, peer: PartyId, id: TxId, rejection: Rejection) {
        let links = &mut self.links;
        links
            .deliveries
            .refused(peer, id, rejection, &mut links.delivery_out);
        self.owes_no_more(peer, &id, true);
    }

    fn owes_no_more(&mut self, peer: PartyId, id: &TxId, refused: bool) {
        if refused {
            self.clients.refused(id);
        }
        if let Some(missing) = self.links.owed.get_mut(id) {
            missing.remove(&peer);
            if missing.is_empty() {
                self.links.owed.remove(id);
                self.on_all_delivered(id);
            }
        }
    }

    pub(crate) fn links_on_time(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let now = self.now;
        let links = &mut self.links;
        links.outbox.timer(now, &mut links.outbox_out);
        links.deliveries.timer(now);
        links.requests.timer(now, &mut links.request_out);
        self.read_back(reads)
    }

    /// Turns what the machines ask for into rows and messages.
    pub(crate) fn pump_links(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        loop {
            let inbox = std::mem::take(&mut self.links.inbox_out);
            let outbox = std::mem::take(&mut self.links.outbox_out);
            let deliveries = std::mem::take(&mut self.links.delivery_out);
            let requests = std::mem::take(&mut self.links.request_out);
            if inbox.is_empty() && outbox.is_empty() && deliveries.is_empty() && requests.is_empty()
            {
                self.links.sizes.clear();
                return Ok(());
            }
            inbox
                .into_iter()
                .for_each(|action| self.on_inbox_action(action));
            outbox
                .into_iter()
                .for_each(|action| self.on_outbox_action(action));
            for action in deliveries {
                self.on_delivery_action(action, reads)?;
            }
            for RequestAction::Send {
                peer,
                id,
                service,
                body,
            } in requests
            {
                let service = service as u8;
                self.send(
                    peer,
                    Priority::Normal,
                    PeerMessage::Request { id, service, body },
                );
            }
        }
    }

    fn on_inbox_action(&mut self, action: InboxAction) {
        match action {
            InboxAction::Deliver { peer, bytes } => match SessionMessage::from_bytes(&bytes) {
                Ok(message) => {
                    self.engine.on_session(peer, message, &mut self.engine_out);
                    self.take_engine_actions();
                }
                Err(error) => self.bad_message(peer, &format!("a session message: {error}")),
            },
            InboxAction::StoreCursor { peer, epoch, upto } => {
                let mut e = Encoder::new();
                e.array(2);
                e.u64(epoch);
                e.u64(upto);
                let key = meta_key(META_INBOUND, peer.as_bytes());
                self.round.batch.put(Table::Meta, key, e.into_bytes());
            }
            InboxAction::Ack { peer, upto } => {
                self.send(peer, Priority::Normal, PeerMessage::SessionAck { upto });
            }
        }
    }

    fn on_outbox_action(&mut self, action: OutboxAction) {
        match action {
            OutboxAction::Store { peer, seq, bytes } => {
                self.round
                    .batch
                    .put(Table::Outbox, peer_seq_key(&peer, seq), bytes);
            }
            OutboxAction::Send { peer, seq, bytes } => {
                self.send(
                    peer,
                    Priority::Normal,
                    PeerMessage::Session { seq, body: bytes },
                );
            }
            OutboxAction::Delete { peer, from, upto } => {
                for seq in from..=upto {
                    self.round
                        .batch
                        .delete(Table::Outbox, peer_seq_key(&peer, seq));
                }
            }
            OutboxAction::Refill { peer, after, limit } => {
                let number = self.round_number();
                let back = ReadBack::Outbox { peer, after, limit };
                self.links.read_backs.push_back((number, back));
            }
        }
    }

    fn on_delivery_action(
        &mut self,
        action: DeliveryAction,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match action {
            DeliveryAction::Store {
                peer,
                seq,
                transaction,
            } => {
                let bytes = self
                    .links
                    .sizes
                    .get(&transaction)
                    .copied()
                    .unwrap_or_default();
                let mut e = Encoder::new();
                e.array(2);
                transaction.encode(&mut e);
                e.u64(bytes as u64);
                self.round
                    .batch
                    .put(Table::Deliveries, peer_seq_key(&peer, seq), e.into_bytes());
            }
            DeliveryAction::Delete { peer, seq } => {
                self.links.owed_rows = self.links.owed_rows.saturating_sub(1);
                self.round
                    .batch
                    .delete(Table::Deliveries, peer_seq_key(&peer, seq));
            }
            DeliveryAction::Send { peer, transactions } => {
                self.send_delivery(peer, &transactions, reads)?;
            }
            DeliveryAction::Refill { peer, after, limit } => {
                let number = self.round_number();
                let back = ReadBack::Deliveries { peer, after, limit };
                self.links.read_backs.push_back((number, back));
            }
            DeliveryAction::Refused {
                peer,
                transaction,
                rejection,
            } => {
                let text = format!(
                    "{peer} refuses transaction {transaction}: {} ({})",
                    rejection.message, rejection.code
                );
                self.log(true, "node.delivery_refused", text);
            }
            DeliveryAction::AllAnswered { .. } => {}
        }
        Ok(())
    }

    fn send_delivery(
        &mut self,
        peer: PartyId,
        ids: &[TxId],
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let mut transactions = Vec::with_capacity(ids.len());
        let mut dependencies = Vec::new();
        let mut along = BTreeSet::new();
        for id in ids {
            let Some(recorded) = self.book.get(id, reads)? else {
                continue;
            };
            for dependency in crate::fetch::dependencies(&recorded.transaction) {
                if let Some(unshared) = self.unshared.peek(&dependency)
                    && dependencies.len() < crate::message::DELIVER_TRANSACTIONS_MAX
                    && along.insert(dependency)
                {
                    dependencies.push(unshared.to_bytes());
                }
            }
            transactions.push(recorded.transaction.to_bytes());
        }
        if !transactions.is_empty() {
            self.send(
                peer,
                Priority::Normal,
                PeerMessage::Deliver {
                    transactions,
                    dependencies,
                },
            );
        }
        Ok(())
    }

    /// What is left to say at the end of a round.
    pub(crate) fn links_end_round(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let now = self.now;
        let links = &mut self.links;
        links.inbox.end_of_round(&mut links.inbox_out);
        links.deliveries.end_of_round(now, &mut links.delivery_out);
        self.pump_links(reads)?;
        for (peer, ids) in std::mem::take(&mut self.links.answers) {
            for ids in ids.chunks(crate::message::DELIVERED_IDS_MAX) {
                self.send(
                    peer,
                    Priority::Normal,
                    PeerMessage::Delivered { ids: ids.to_vec() },
                );
            }
        }
        Ok(())
    }

    /// No commit came of this round: what would have waited for it can be read now.
    pub(crate) fn round_without_commit(&mut self) {
        let number = self.round_number();
        for (waits_for, _) in &mut self.links.read_backs {
            if *waits_for == number {
                *waits_for = number - 1;
            }
        }
    }

    pub(crate) fn has_read_backs(&self) -> bool {
        let committed = self.committed_number();
        self.links
            .read_backs
            .front()
            .is_some_and(|(number, _)| *number <= committed)
    }

    /// Reads rows back whose commit is durable.
    pub(crate) fn read_back(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while self.has_read_backs() {
            let Some((_, back)) = self.links.read_backs.pop_front() else {
                break;
            };
            match back {
                ReadBack::Outbox { peer, after, limit } => {
                    let rows = rows_after(reads, Table::Outbox, &peer, after, limit)?;
                    let now = self.now;
                    let links = &mut self.links;
                    links
                        .outbox
                        .refilled(peer, rows, now, &mut links.outbox_out);
                }
                ReadBack::Deliveries { peer, after, limit } => {
                    let rows = rows_after(reads, Table::Deliveries, &peer, after, limit)?;
                    let rows = rows.into_iter().filter_map(|(seq, value)| {
                        let (transaction, bytes) = decode_delivery(&value)?;
                        Some(PendingDelivery {
                            seq,
                            transaction,
                            bytes,
                        })
                    });
                    let links = &mut self.links;
                    links.deliveries.refilled(peer, rows.collect());
                }
            }
        }
        self.pump_links(reads)
    }
}

fn rows_after(
    reads: &dyn Reads,
    table: Table,
    peer: &PartyId,
    after: u64,
    limit: usize,
) -> Result<Vec<(u64, Vec<u8>)>, StoreFailure> {
    let from = peer_seq_key(peer, after.saturating_add(1));
    let to = prefix_end(peer.as_bytes());
    let rows = reads.scan(table, &from, to.as_deref(), limit)?;
    Ok(rows
        .into_iter()
        .filter_map(|(key, value)| Some((seq_of(&key)?, value)))
        .collect())
}

fn scan_all(
    reads: &dyn Reads,
    table: Table,
    prefix: &[u8],
) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StoreFailure> {
    let to = prefix_end(prefix);
    // One row a peer: a network of more nodes than this is outside the limits of the network map.
    reads.scan(table, prefix, to.as_deref(), 1_000_000)
}

/// The first and last number of each peer's rows and their count, every row shown to `each` on the way.
fn ranges(
    reads: &dyn Reads,
    table: Table,
    mut each: impl FnMut(PartyId, &[u8]),
) -> Result<Vec<(PartyId, u64, u64, u64)>, StoreFailure> {
    const PAGE: usize = 10_000;
    let mut found: BTreeMap<PartyId, (u64, u64, u64)> = BTreeMap::new();
    let mut from = Vec::new();
    loop {
        let page = reads.scan(table, &from, None, PAGE)?;
        for (key, value) in &page {
            let (Some(peer), Some(seq)) = (key.get(..32).and_then(peer_of), seq_of(key)) else {
                continue;
            };
            each(peer, value);
            let range = found.entry(peer).or_insert((seq, seq, 0));
            range.1 = seq;
            range.2 += 1;
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE => from = [last.as_slice(), &[0]].concat(),
            _ => break,
        }
    }
    Ok(found
        .into_iter()
        .map(|(peer, (first, last, count))| (peer, first, last, count))
        .collect())
}

fn peer_of(bytes: &[u8]) -> Option<PartyId> {
    Some(PartyId::from_hash(Hash::from_bytes(bytes.try_into().ok()?)))
}

fn decode_cursor(value: &[u8]) -> Option<(u64, u64)> {
    let mut d = Decoder::new(value);
    d.expect_array(2).ok()?;
    Some((d.u64().ok()?, d.u64().ok()?))
}

fn decode_delivery(value: &[u8]) -> Option<(TxId, usize)> {
    let mut d = Decoder::new(value);
    d.expect_array(2).ok()?;
    Some((
        TxId::decode(&mut d).ok()?,
        usize::try_from(d.u64().ok()?).ok()?,
    ))
}
