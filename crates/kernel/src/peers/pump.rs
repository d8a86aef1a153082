//! The actions of the messaging machines, as rows of the round's batch and messages after it. Also rows that are read back for
//! them.

use flow::SessionMessage;
use flow::messaging::{DeliveryAction, InboxAction, OutboxAction, PendingDelivery, RequestAction};
use ledger::{PartyId, TxId};
use primitives::{Decode, Encode, Encoder};

use crate::errors;
use crate::event::Priority;
use crate::kernel::Kernel;
use crate::message::{DELIVER_TRANSACTIONS_MAX, PeerMessage};
use crate::pages::row_page;
use crate::peers::along::{ALONG_BYTES_MAX, Parcel};
use crate::peers::links::Links;
use crate::peers::read_back::{ReadBack, decode_delivery, encode_delivery};
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{META_INBOUND, meta_key, peer_seq_key, prefix_end, seq_of};

impl Kernel {
    /// Carries out the actions of the messaging machines.
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
                let request = PeerMessage::Request { id, service, body };
                self.context.send(peer, Priority::Normal, request);
            }
        }
    }

    fn on_inbox_action(&mut self, action: InboxAction) {
        match action {
            InboxAction::Deliver { peer, bytes } => {
                self.links.took(peer);
                match SessionMessage::from_bytes(&bytes) {
                    Ok(message) => {
                        self.flows.on_session(peer, message, &mut self.context);
                    }
                    Err(error) => self.bad_message(peer, &format!("a session message: {error}")),
                }
            }
            InboxAction::StoreCursor { peer, epoch, upto } => {
                let mut e = Encoder::new();
                e.array(2);
                e.u64(epoch);
                e.u64(upto);
                let key = meta_key(META_INBOUND, peer.as_bytes());
                self.context
                    .round
                    .batch
                    .of::<Links>()
                    .put(Table::Meta, key, e.into_bytes());
            }
            InboxAction::Ack { peer, upto } => {
                self.context
                    .send(peer, Priority::Normal, PeerMessage::SessionAck { upto });
            }
        }
    }

    fn on_outbox_action(&mut self, action: OutboxAction) {
        match action {
            OutboxAction::Store { peer, seq, bytes } => {
                self.context.round.batch.of::<Links>().put(
                    Table::Outbox,
                    peer_seq_key(&peer, seq),
                    bytes,
                );
            }
            OutboxAction::Send { peer, seq, bytes } => {
                self.context.send(
                    peer,
                    Priority::Normal,
                    PeerMessage::Session { seq, body: bytes },
                );
            }
            OutboxAction::Delete { peer, from, upto } => {
                for seq in from..=upto {
                    self.context
                        .round
                        .batch
                        .of::<Links>()
                        .delete(Table::Outbox, peer_seq_key(&peer, seq));
                }
            }
            OutboxAction::Refill { peer, after, limit } => {
                let back = ReadBack::Outbox { peer, after, limit };
                self.links
                    .read_backs
                    .push_back((self.context.commits.next(), back));
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
                let row = encode_delivery(&transaction, bytes);
                self.context.round.batch.of::<Links>().put(
                    Table::Deliveries,
                    peer_seq_key(&peer, seq),
                    row,
                );
            }
            DeliveryAction::Delete { peer, seq } => {
                self.context
                    .round
                    .batch
                    .of::<Links>()
                    .delete(Table::Deliveries, peer_seq_key(&peer, seq));
            }
            DeliveryAction::Send { peer, transactions } => {
                self.send_delivery(peer, &transactions, reads)?;
            }
            DeliveryAction::Refill { peer, after, limit } => {
                let back = ReadBack::Deliveries { peer, after, limit };
                self.links
                    .read_backs
                    .push_back((self.context.commits.next(), back));
            }
            DeliveryAction::Refused {
                peer,
                transaction,
                rejection,
            } => {
                let text = format!(
                    "it refuses transaction {transaction}: {} ({})",
                    rejection.message, rejection.code
                );
                self.context
                    .complain(errors::DELIVERY_REFUSED.code, peer, &text);
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
        let along_max = ALONG_BYTES_MAX.min(self.context.room.part());
        for ids in ids.chunks(DELIVER_TRANSACTIONS_MAX) {
            let mut transactions = Vec::with_capacity(ids.len());
            let mut parcel = Parcel::default();
            for id in ids {
                let Some(recorded) = self.book.get(id, reads)? else {
                    continue;
                };
                self.along
                    .add(peer, &recorded.transaction, along_max, &mut parcel);
                transactions.push(recorded.transaction.to_bytes());
            }
            if !transactions.is_empty() {
                let message = PeerMessage::Deliver {
                    transactions,
                    dependencies: parcel.transactions,
                };
                self.context.send(peer, Priority::Normal, message);
            }
        }
        Ok(())
    }

    /// Handles a round without a commit: read-backs that would have waited for its commit wait for the previous one.
    pub(crate) fn round_without_commit(&mut self) {
        let (next, handed) = (self.context.commits.next(), self.context.commits.handed());
        for (number, _) in &mut self.links.read_backs {
            if *number == next {
                *number = handed;
            }
        }
    }

    /// Reads rows back whose commit is durable.
    pub(crate) fn read_back(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while self.links.has_read_backs() {
            let Some((_, back)) = self.links.read_backs.pop_front() else {
                break;
            };
            match back {
                ReadBack::Outbox { peer, after, limit } => {
                    let bytes_max = self.context.options.outbox.window_bytes_max;
                    let (rows, more) =
                        rows_after(reads, Table::Outbox, &peer, after, limit, bytes_max)?;
                    let now = self.context.now.monotonic;
                    let links = &mut self.links;
                    links
                        .outbox
                        .refilled(peer, rows, more, now, &mut links.outbox_out);
                }
                ReadBack::Deliveries { peer, after, limit } => {
                    let all = usize::MAX;
                    let (rows, more) =
                        rows_after(reads, Table::Deliveries, &peer, after, limit, all)?;
                    let rows = rows.into_iter().filter_map(|(seq, value)| {
                        let (transaction, bytes) = decode_delivery(&value)?;
                        Some(PendingDelivery {
                            seq,
                            transaction,
                            bytes,
                        })
                    });
                    let rows = rows.collect();
                    self.links.deliveries.refilled(peer, rows, more);
                }
            }
        }
        self.pump_links(reads)
    }
}

/// Rows with their numbers.
type Numbered = Vec<(u64, Vec<u8>)>;

/// Up to `limit` rows of a peer, but none after those that together pass `bytes_max`: more than that the machine that asked
/// has no room for. And whether there may be more: the machine may have been told meanwhile that the first of them are
/// answered, and must not take the others for all.
fn rows_after(
    reads: &dyn Reads,
    table: Table,
    peer: &PartyId,
    after: u64,
    limit: usize,
    bytes_max: usize,
) -> Result<(Numbered, bool), StoreFailure> {
    let to = prefix_end(peer.as_bytes());
    let from = peer_seq_key(peer, after.saturating_add(1));
    let page = row_page(reads, table, from, to.as_deref(), limit, bytes_max)?;
    let rows = page.rows.into_iter();
    let rows = rows.filter_map(|(key, value)| Some((seq_of(&key)?, value)));
    Ok((rows.collect(), page.more))
}
